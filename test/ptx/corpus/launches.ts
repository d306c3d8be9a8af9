// How each kernel of the corpus is launched: a table that the emulator's tests read, and whoever runs the same
// kernels on a GPU. Inputs follow from the kernel's name and the argument's position alone.

type Extent = readonly [number, number, number];

/** An argument: a scalar, a buffer with what is in it before the launch, a texture, or a struct by value. */
export type Argument =
  | { readonly kind: "scalar"; readonly type: Scalar; readonly value: number }
  | Buffer
  | { readonly kind: "texture"; readonly width: number; readonly height: number }
  | { readonly kind: "struct"; readonly fields: readonly Argument[] };

export interface Buffer {
  readonly kind: "buffer";
  readonly type: Element;
  readonly count: number;
  /** "zero", or random in [low, high]: whole numbers for integer types, and for floats if `whole`. */
  readonly fill: "zero" | { readonly low: number; readonly high: number; readonly whole: boolean };
}

type Scalar = "i32" | "u32" | "f32" | "f64" | "i16";
export type Element = "u8" | "i8" | "i16" | "i32" | "u32" | "i64" | "f16" | "bf16" | "f32" | "f64";

export interface Launch {
  readonly kernel: string;
  readonly file: string;
  readonly grid: Extent;
  readonly block: Extent;
  readonly dynamicShared?: number;
  readonly args: readonly Argument[];
  /** Only compiled for sm_90. */
  readonly hopper?: true;
  /** The code of the error that the emulator ends with. */
  readonly ends?: string;
}

const i32 = (value: number): Argument => ({ kind: "scalar", type: "i32", value });
const u32 = (value: number): Argument => ({ kind: "scalar", type: "u32", value });
const f32 = (value: number): Argument => ({ kind: "scalar", type: "f32", value });
const f64 = (value: number): Argument => ({ kind: "scalar", type: "f64", value });
const i16 = (value: number): Argument => ({ kind: "scalar", type: "i16", value });
const random = (type: Element, count: number, low: number, high: number): Argument => ({
  kind: "buffer",
  type,
  count,
  fill: { low, high, whole: false },
});
/** Whole numbers, so that sums in any order are the same. */
const whole = (type: Element, count: number, low: number, high: number): Argument => ({
  kind: "buffer",
  type,
  count,
  fill: { low, high, whole: true },
});
const zeros = (type: Element, count: number): Argument => ({
  kind: "buffer",
  type,
  count,
  fill: "zero",
});

type Row = Omit<Launch, "file" | "kernel" | "grid" | "block" | "args">;
const size = (extent: readonly number[]): Extent => [
  extent[0] ?? 1,
  extent[1] ?? 1,
  extent[2] ?? 1,
];
const launch = (
  file: string,
  kernel: string,
  grid: readonly number[],
  block: readonly number[],
  args: readonly Argument[],
  more: Row = {},
): Launch => ({ file, kernel, grid: size(grid), block: size(block), args, ...more });

export const launches: readonly Launch[] = [
  launch(
    "elementwise",
    "saxpy",
    [5],
    [64],
    [i32(300), f32(1.5), random("f32", 300, -2, 2), random("f32", 300, -2, 2)],
  ),
  launch(
    "elementwise",
    "relu_vec4",
    [3],
    [32],
    [i32(80), random("f32", 320, -1, 1), zeros("f32", 320)],
  ),
  launch(
    "elementwise",
    "exp_grid_stride",
    [3],
    [32],
    [i32(250), random("f32", 250, -3, 3), zeros("f32", 250)],
  ),
  launch(
    "elementwise",
    "gelu_bf16",
    [4],
    [64],
    [i32(230), random("bf16", 230, -4, 4), zeros("bf16", 230)],
  ),
  launch(
    "elementwise",
    "fma_half2",
    [3],
    [32],
    [i32(90), random("f16", 180, -4, 4), random("f16", 180, -4, 4), random("f16", 180, -4, 4)],
  ),
  launch(
    "elementwise",
    "mul_bf162",
    [3],
    [32],
    [i32(90), random("bf16", 180, -4, 4), random("bf16", 180, -4, 4), random("bf16", 180, -4, 4)],
  ),
  launch(
    "elementwise",
    "dropout",
    [4],
    [64],
    [
      i32(250),
      u32(1234),
      f32(0.75),
      random("f32", 250, -1, 1),
      zeros("f32", 250),
      zeros("u8", 250),
    ],
  ),
  launch(
    "elementwise",
    "quantize_int8",
    [4],
    [64],
    [i32(250), f32(64), random("f32", 250, -3, 3), zeros("i8", 250)],
  ),
  launch(
    "elementwise",
    "clamp_f64",
    [4],
    [32],
    [i32(120), f64(-0.25), f64(2), random("f64", 120, -2, 2), zeros("f64", 120)],
  ),
  launch(
    "elementwise",
    "complex_mul",
    [4],
    [32],
    [i32(120), random("f32", 240, -2, 2), random("f32", 240, -2, 2), zeros("f32", 240)],
  ),
  launch(
    "elementwise",
    "transpose_tiled",
    [3, 2],
    [16, 16],
    [i32(30), i32(40), random("f32", 1200, -1, 1), zeros("f32", 1200)],
  ),

  launch(
    "reduce",
    "sum_shared",
    [4],
    [128],
    [i32(450), random("f32", 450, -1, 1), zeros("f32", 4)],
  ),
  launch("reduce", "sum_warp", [4], [128], [i32(450), random("f32", 450, -1, 1), zeros("f32", 4)]),
  launch(
    "reduce",
    "argmax_rows",
    [6],
    [64],
    [i32(150), random("f32", 900, -1, 1), zeros("i32", 6)],
  ),
  launch(
    "reduce",
    "dot_f64",
    [3],
    [64],
    [i32(500), random("f64", 500, -1, 1), random("f64", 500, -1, 1), zeros("f64", 3)],
    { dynamicShared: 512 },
  ),
  launch("reduce", "sum_atomic", [5], [64], [i32(300), whole("f32", 300, -9, 9), zeros("f32", 1)]),
  launch(
    "reduce",
    "sum_last_block",
    [5],
    [64],
    [i32(300), random("f32", 300, -1, 1), zeros("f32", 5), zeros("u32", 1), zeros("f32", 1)],
  ),
  launch(
    "reduce",
    "minmax_redux",
    [4],
    [64],
    [i32(250), whole("i32", 250, -1000, 1000), zeros("i32", 1), zeros("u32", 1), zeros("u32", 1)],
  ),
  launch("reduce", "count_votes", [4], [96], [i32(380), whole("i32", 380, -3, 9), zeros("i32", 4)]),

  launch("scan", "scan_block", [4], [128], [i32(500), whole("i32", 500, -9, 9), zeros("i32", 500)]),
  launch("scan", "scan_warp", [4], [128], [i32(500), whole("i32", 500, -9, 9), zeros("i32", 500)]),
  launch(
    "scan",
    "scan_lookback",
    [5],
    [128],
    [i32(600), whole("i32", 600, -9, 9), zeros("i32", 600), zeros("i32", 5), zeros("i32", 5)],
  ),
  launch(
    "scan",
    "scan_window",
    [37],
    [32],
    [i32(1180), whole("i32", 1180, -9, 9), zeros("i32", 1180), zeros("i64", 69)],
  ),
  launch(
    "scan",
    "scan_ticket",
    [5],
    [128],
    [i32(600), whole("i32", 600, -9, 9), zeros("i32", 600), zeros("u32", 1), zeros("i64", 5)],
  ),
  launch(
    "scan",
    "segmented_max",
    [3],
    [64],
    [i32(180), whole("i32", 180, 0, 1), random("f32", 180, -1, 1), zeros("f32", 180)],
  ),

  launch(
    "matmul",
    "matmul_tiled",
    [3, 2],
    [8, 8],
    [
      i32(13),
      i32(20),
      i32(17),
      random("f32", 221, -1, 1),
      random("f32", 340, -1, 1),
      zeros("f32", 260),
    ],
  ),
  launch(
    "matmul",
    "matmul_registers",
    [2, 2],
    [8, 8],
    [i32(32), i32(24), random("f32", 768, -1, 1), random("f32", 768, -1, 1), zeros("f32", 1024)],
  ),
  launch(
    "matmul",
    "matmul_async",
    [2, 2],
    [4, 16],
    [i32(32), i32(48), random("f32", 1536, -1, 1), random("f32", 1536, -1, 1), zeros("f32", 1024)],
  ),
  launch(
    "matmul",
    "matmul_batched_f64",
    [2, 2, 3],
    [8, 8],
    [i32(12), random("f64", 432, -1, 1), random("f64", 432, -1, 1), zeros("f64", 432)],
  ),
  launch(
    "matmul",
    "matmul_mma",
    [3],
    [32],
    [i32(48), random("f16", 2304, -1, 1), random("f16", 384, -1, 1), zeros("f32", 384)],
  ),
  launch(
    "matmul",
    "matmul_ldmatrix",
    [3],
    [32],
    [random("f16", 768, -1, 1), random("f16", 128, -1, 1), zeros("f32", 384)],
  ),

  launch(
    "rows",
    "softmax_row",
    [4],
    [64],
    [i32(100), random("f32", 400, -5, 5), zeros("f32", 400)],
  ),
  launch(
    "rows",
    "softmax_online",
    [2],
    [32, 2],
    [i32(75), random("f32", 300, -5, 5), zeros("f32", 300)],
  ),
  launch(
    "rows",
    "layer_norm",
    [4],
    [64],
    [
      i32(100),
      f32(1e-5),
      random("f32", 400, -2, 2),
      random("f32", 100, 0, 2),
      random("f32", 100, -1, 1),
      zeros("f32", 400),
    ],
  ),
  launch(
    "rows",
    "rms_norm_half",
    [4],
    [32],
    [i32(80), random("f16", 320, -2, 2), zeros("f16", 320)],
  ),
  launch(
    "rows",
    "batch_norm_stats",
    [3],
    [32],
    [i32(20), i32(80), random("f32", 1600, -2, 2), zeros("f32", 80), zeros("f32", 80)],
  ),
  launch(
    "rows",
    "attention_online",
    [2, 2],
    [32],
    [
      i32(50),
      random("f32", 800, -1, 1),
      random("f32", 800, -1, 1),
      random("f32", 800, -1, 1),
      zeros("f32", 800),
    ],
  ),
  launch(
    "rows",
    "cross_entropy",
    [5],
    [64],
    [i32(90), random("f32", 450, -3, 3), whole("i32", 5, 0, 89), zeros("f32", 5)],
    { dynamicShared: 128 },
  ),
  launch(
    "rows",
    "embedding_backward",
    [8],
    [32],
    [i32(40), whole("i32", 8, -1, 3), whole("f32", 320, -4, 4), zeros("f32", 160)],
  ),

  launch(
    "histogram",
    "histogram_shared",
    [3],
    [96],
    [i32(700), whole("u8", 700, 0, 255), zeros("u32", 64)],
  ),
  launch(
    "histogram",
    "histogram_global",
    [4],
    [64],
    [i32(250), whole("i32", 250, 0, 99), zeros("i64", 32)],
  ),
  launch(
    "histogram",
    "histogram_match",
    [4],
    [64],
    [i32(250), whole("i32", 250, 0, 99), zeros("u32", 16)],
  ),
  launch("histogram", "sort_bitonic", [4], [64], [whole("i32", 256, -500, 500)]),
  launch(
    "histogram",
    "compact_block",
    [4],
    [128],
    [i32(500), whole("i32", 500, 0, 99), zeros("i32", 512), zeros("i32", 4)],
  ),
  launch(
    "histogram",
    "compact_atomic",
    [4],
    [64],
    [i32(250), whole("i32", 250, 0, 9), zeros("i32", 250), zeros("u32", 1)],
  ),
  launch(
    "histogram",
    "top_of_row",
    [5],
    [32],
    [i32(90), whole("u32", 450, 0, 9999), zeros("u32", 20)],
  ),

  launch(
    "control",
    "exit_before_barrier",
    [4],
    [64],
    [i32(230), whole("i32", 230, -99, 99), zeros("i32", 230)],
  ),
  launch("control", "exit_by_warp", [3], [128], [whole("i32", 384, -99, 99), zeros("i32", 384)]),
  launch(
    "control",
    "exit_in_loop",
    [4],
    [32],
    [i32(200), whole("i32", 128, -99, 99), zeros("i32", 128)],
  ),
  launch(
    "control",
    "exit_by_block",
    [6],
    [32],
    [i32(5), whole("i32", 192, -99, 99), zeros("i32", 192)],
  ),
  launch(
    "control",
    "collatz",
    [4],
    [32],
    [i32(120), whole("u32", 120, 1, 9999), zeros("u32", 120)],
  ),
  launch("control", "switch_of_ten", [4], [32], [whole("i32", 128, 0, 9999), zeros("i32", 128)]),
  launch(
    "control",
    "nested_loops",
    [4],
    [32],
    [i32(12), whole("i32", 128, 0, 99), zeros("i32", 128)],
  ),
  launch(
    "control",
    "barrier_in_uniform_branch",
    [4],
    [96],
    [i32(3), whole("i32", 384, -99, 99), zeros("i32", 384)],
  ),
  launch(
    "control",
    "exit_then_shuffle",
    [3],
    [32],
    [i32(85), whole("i32", 85, -99, 99), zeros("i32", 85)],
  ),
  launch(
    "control",
    "exit_uniform_then_shuffle",
    [4],
    [64],
    [i32(6), whole("i32", 256, -99, 99), zeros("i32", 256)],
  ),

  launch(
    "stencil",
    "stencil_3d",
    [2, 2, 3],
    [8, 4, 2],
    [i32(14), i32(7), i32(5), random("f32", 490, -1, 1), zeros("f32", 490)],
  ),
  launch(
    "stencil",
    "stencil_3d_shared",
    [2, 2],
    [8, 4],
    [i32(14), i32(7), i32(5), random("f32", 490, -1, 1), zeros("f32", 490)],
  ),
  launch(
    "stencil",
    "conv_2d",
    [2, 2, 3],
    [8, 8],
    [i32(14), i32(12), random("f32", 168, -1, 1), random("f32", 27, -1, 1), zeros("f32", 504)],
  ),
  launch(
    "stencil",
    "life",
    [2, 2],
    [8, 8],
    [i32(13), i32(15), whole("u8", 195, 0, 1), zeros("u8", 195)],
  ),
  launch("stencil", "who_am_i", [2, 3, 2], [4, 3, 2], [zeros("u32", 96), zeros("u32", 288)]),

  launch(
    "functions",
    "call_polynomial",
    [4],
    [32],
    [i32(120), random("f32", 120, -1, 1), zeros("f32", 120)],
  ),
  launch(
    "functions",
    "call_struct",
    [3],
    [32],
    [i32(96), random("f32", 96, -1, 1), zeros("f32", 288)],
  ),
  launch("functions", "call_recursive", [2], [32], [whole("i32", 64, 0, 99), zeros("i32", 64)]),
  launch("functions", "call_pointer", [3], [32], [random("f32", 96, -1, 1), zeros("f32", 96)]),
  launch(
    "functions",
    "call_with_barrier",
    [3],
    [64],
    [whole("i32", 192, -99, 99), zeros("i32", 192)],
  ),
  launch("functions", "call_with_exit", [3], [32], [whole("i32", 96, -99, 99), zeros("i32", 96)]),
  launch(
    "functions",
    "struct_parameter",
    [3],
    [32],
    [
      {
        kind: "struct",
        fields: [
          f32(1.5),
          i32(2),
          i16(1),
          i16(-2),
          i16(3),
          i16(-4),
          f64(0.5),
          random("f32", 96, -1, 1),
        ],
      },
      zeros("f32", 96),
    ],
  ),
  launch(
    "functions",
    "local_array",
    [3],
    [32],
    [i32(96), whole("i32", 96, 0, 99), zeros("i32", 96)],
  ),

  launch("warp", "shuffle_kinds", [3], [64], [whole("i32", 192, -99, 99), zeros("i32", 192)]),
  launch("warp", "shuffle_wide", [3], [64], [random("f64", 192, -1, 1), zeros("f64", 192)]),
  launch("warp", "vote_kinds", [3], [64], [whole("i32", 192, -9, 99), zeros("u32", 192)]),
  launch("warp", "half_masks", [3], [64], [whole("i32", 192, -99, 99), zeros("i32", 192)]),
  launch("warp", "tile_groups", [3], [64], [whole("i32", 192, -99, 99), zeros("i32", 192)]),
  launch(
    "warp",
    "aggregate_atomic",
    [3],
    [64],
    [i32(180), whole("i32", 180, -99, 99), zeros("u32", 1)],
  ),

  launch(
    "atomics",
    "atomic_integers",
    [3],
    [32],
    [whole("i32", 96, -99, 99), zeros("i32", 56), zeros("u32", 32)],
  ),
  launch(
    "atomics",
    "atomic_wide",
    [3],
    [32],
    [whole("i64", 96, -99999, 99999), zeros("i64", 8), zeros("i64", 16)],
  ),
  launch(
    "atomics",
    "atomic_floats",
    [3],
    [32],
    [whole("f32", 96, 0, 4), zeros("f32", 4), zeros("f64", 4), zeros("f16", 32), zeros("bf16", 64)],
  ),
  launch("atomics", "atomic_cas_max", [3], [32], [random("f32", 96, 0, 9), zeros("f32", 3)]),
  launch("atomics", "atomic_shared", [3], [64], [whole("i32", 192, 0, 99), zeros("i32", 24)]),
  launch("atomics", "atomic_scopes", [3], [32], [whole("i32", 96, -99, 99), zeros("i32", 4)]),
  launch(
    "atomics",
    "lock_between_blocks",
    [4],
    [32],
    [zeros("i32", 1), zeros("i32", 1), whole("i32", 4, -99, 99)],
  ),

  launch(
    "math",
    "roundings_f32",
    [2],
    [32],
    [i32(60), random("f32", 60, -3, 3), random("f32", 60, -3, 3), zeros("f32", 720)],
  ),
  launch(
    "math",
    "roundings_f64",
    [2],
    [32],
    [i32(60), random("f64", 60, -3, 3), random("f64", 60, -3, 3), zeros("f64", 480)],
  ),
  launch(
    "math",
    "conversions",
    [2],
    [32],
    [i32(60), random("f32", 60, -300, 300), zeros("i32", 840)],
  ),
  launch(
    "math",
    "bit_fields",
    [2],
    [32],
    [i32(60), whole("u32", 60, 0, 0xffffffff), whole("u32", 60, 0, 0xffffffff), zeros("u32", 720)],
  ),
  launch(
    "math",
    "wide_integers",
    [2],
    [32],
    [i32(60), whole("i64", 60, -1e15, 1e15), whole("i64", 60, -1e6, 1e6), zeros("i64", 480)],
  ),
  launch(
    "math",
    "special_functions",
    [2],
    [32],
    [i32(60), random("f32", 60, -3, 3), zeros("f32", 480)],
  ),
  launch(
    "math",
    "half_arithmetic",
    [2],
    [32],
    [i32(60), random("f16", 60, -3, 3), random("f16", 60, -3, 3), zeros("f16", 480)],
  ),

  launch(
    "barriers",
    "named_barriers",
    [3],
    [64],
    [i32(5), whole("i32", 480, -99, 99), zeros("i32", 96)],
  ),
  launch("barriers", "barrier_reductions", [3], [96], [whole("i32", 288, 0, 9), zeros("i32", 288)]),
  launch(
    "barriers",
    "mbarrier_rounds",
    [3],
    [64],
    [i32(3), whole("i32", 192, -99, 99), zeros("i32", 192)],
  ),
  launch(
    "barriers",
    "mbarrier_left_live",
    [3],
    [64],
    [whole("i32", 192, -99, 99), zeros("i32", 192)],
  ),
  launch(
    "barriers",
    "copy_pipeline",
    [3],
    [32],
    [i32(5), random("f32", 1920, -1, 1), zeros("f32", 1920)],
  ),
  launch(
    "barriers",
    "copy_zero_fill",
    [3],
    [64],
    [i32(150), whole("i32", 150, -99, 99), zeros("i32", 192)],
  ),

  launch("memory", "constant_table", [3], [32], [random("f32", 96, -1, 1), zeros("f32", 96)]),
  launch("memory", "module_variables", [3], [64], [random("f32", 192, -9, 9), zeros("i32", 192)]),
  launch(
    "memory",
    "texture_linear",
    [3],
    [32],
    [{ kind: "texture", width: 90, height: 1 }, i32(90), zeros("f32", 90)],
  ),
  launch(
    "memory",
    "texture_plane",
    [2, 2],
    [8, 8],
    [{ kind: "texture", width: 14, height: 11 }, i32(14), i32(11), zeros("f32", 154)],
  ),
  launch("memory", "generic_pointers", [3], [32], [whole("i32", 96, 0, 99), zeros("i32", 96)]),
  launch(
    "memory",
    "dynamic_shared",
    [3],
    [64],
    [i32(64), whole("i32", 192, -99, 99), zeros("i32", 192)],
    { dynamicShared: 384 },
  ),
  launch("memory", "print_values", [2], [32], [whole("i32", 32, -99, 99)]),
  launch("memory", "trap_on_negative", [3], [32], [whole("i32", 96, 0, 99), zeros("i32", 96)]),
  launch(
    "memory",
    "vector_widths",
    [3],
    [32],
    [
      whole("u8", 384, 0, 255),
      whole("i16", 192, -99, 99),
      random("f64", 192, -9, 9),
      zeros("i64", 192),
    ],
  ),
  launch(
    "memory",
    "shared_static_2d",
    [3],
    [32, 4],
    [whole("i32", 384, -99, 99), zeros("i32", 384)],
  ),

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
