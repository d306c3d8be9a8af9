// Kernels of sm_90 alone, those whose lanes part, and those that the passes or the emulator refuse.
import { i32, type Launch, launch, random, whole, zeros } from "./launch.ts";

export const specialKernels: readonly Launch[] = [
  launch(
    "hopper",
    "wgmma_stored",
    [2, 2],
    [128],
    [
      i32(32),
      i32(128),
      whole("bf16", 128 * 128, -3, 3),
      whole("bf16", 32 * 128, -3, 3),
      zeros("f32", 128 * 32),
    ],
    { hopper: true },
  ),
  launch(
    "hopper",
    "wgmma_registers",
    [2, 2],
    [128],
    [
      i32(64),
      i32(64),
      whole("f16", 128 * 64, -3, 3),
      whole("f16", 64 * 64, -3, 3),
      whole("f16", 128 * 64, -99, 99),
    ],
    { hopper: true },
  ),
  launch(
    "hopper",
    "wgmma_bytes",
    [2, 2],
    [128],
    [
      i32(16),
      whole("i8", 128 * 32, -128, 127),
      whole("i8", 16 * 32, -128, 127),
      zeros("i32", 128 * 16),
    ],
    { hopper: true },
  ),
  launch(
    "hopper",
    "tensor_boxes",
    [3, 3],
    [128],
    [i32(40), i32(20), whole("i32", 800, -99, 99), zeros("i32", 800), zeros("u8", 9 * 256)],
    { hopper: true },
  ),
  launch("hopper", "bulk_sum", [3], [64], [whole("i32", 192, -99, 99), whole("i32", 64, -9, 9)], {
    hopper: true,
  }),

  launch(
    "parted",
    "ballot_sum_64",
    [3],
    [64],
    [whole("i32", 500, -99, 99), zeros("i32", 3), i32(500)],
  ),
  launch(
    "parted",
    "ballot_sum_128",
    [2],
    [128],
    [whole("i32", 500, -99, 99), zeros("i32", 2), i32(500)],
  ),
  launch(
    "parted",
    "ballot_return",
    [3],
    [64],
    [whole("i32", 150, -99, 99), zeros("i32", 192), i32(150)],
  ),
  launch(
    "parted",
    "first_warp_by_rank",
    [3],
    [6, 4, 3],
    [whole("i32", 216, -99, 99), zeros("i32", 3)],
  ),
  launch(
    "parted",
    "sum_segments",
    [5],
    [32],
    [whole("i32", 400, -99, 99), whole("i32", 5, 0, 400), zeros("i32", 5)],
  ),
  launch(
    "parted",
    "tensor_tail",
    [2],
    [96],
    [random("f16", 1024, -1, 1), random("f16", 512, -1, 1), zeros("f32", 512), i32(128)],
  ),
  launch("parted", "wait_in_block", [3], [64], [zeros("i32", 3), zeros("i32", 192)]),
  launch(
    "parted",
    "drawn_tiles",
    [3],
    [32],
    [zeros("i32", 1), whole("i32", 250, -99, 99), zeros("i32", 250), i32(250)],
  ),
  launch("refused", "cooperative_grid", [3], [64], [whole("i32", 192, -99, 99)], {
    ends: "PTX_TRAP",
  }),
  launch("refused", "grid_barrier_by_hand", [4], [64], [zeros("u32", 1), zeros("i32", 256)]),
  launch("refused", "wait_for_later_block", [4], [32], [zeros("i32", 4), zeros("i32", 4)]),
  launch("refused", "reads_clock", [2], [32], [zeros("i64", 64)]),
  launch("refused", "reads_grid_id", [3], [32], [zeros("u32", 3)]),
  launch("refused", "reads_warp_id", [3], [64], [zeros("u32", 192)]),
  launch(
    "refused",
    "cluster_exchange",
    [4],
    [32],
    [whole("i32", 128, -99, 99), zeros("i32", 128)],
    { hopper: true, ends: "PTX_NOT_EMULATED" },
  ),
  launch("refused", "dependent_launch", [3], [32], [whole("i32", 96, -99, 99), zeros("i32", 96)], {
    hopper: true,
  }),
  launch("refused", "bulk_copy", [3], [64], [whole("i32", 192, -99, 99), zeros("i32", 192)], {
    hopper: true,
  }),
  launch("nested", "dynamic_parallelism", [2], [32], [zeros("i32", 32)], {
    ends: "PTX_NOT_EMULATED",
  }),
];
