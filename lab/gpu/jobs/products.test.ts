import { describe, expect, test } from "vitest";
import { us } from "#core";
import { policyNamed } from "#policy";
import type { Dim3, KernelProfile } from "#profile";
import { h200, workload } from "../../../test/gpu/example.ts";
import { BestEffort } from "../clients/besteffort.ts";
import { Board } from "../clients/board.ts";
import { openGate } from "../gate/gate.ts";
import { Machine } from "../machine/machine.ts";
import { planOf } from "./planning.ts";
import { isProduct, partsOfProduct } from "./products.ts";

const SMS = 132;
const TARGET_US = 200;
/** Two of its blocks fit on an SM, as with cuBLAS's fp32 kernels. */
const kernel = (name: string, grid: Dim3, us: number): KernelProfile => ({
  name,
  grid,
  block: [128, 1, 1],
  registers: 254,
  durationNs: { p50: us * 1000, p95: us * 1000 },
  smsNeeded: Math.ceil((grid[0] * grid[1] * grid[2]) / 2),
  class: "compute",
});
const parts = (grid: Dim3, us: number, name = "sm80_xmma_gemm_f32_tilesize128x128x8") =>
  partsOfProduct(kernel(name, grid, us), SMS, TARGET_US);

describe("a long product", () => {
  test("is divided into parts of whole waves, about as long as requested", () => {
    // BERT's product of 3072 x 4096: six waves of 89 us become three parts of two waves.
    expect(parts([24, 32, 1], 531)).toMatchObject({ count: 3, share: 1 / 3, lastShare: 1 / 3 });
  });

  test("keeps its third side, which may be the sum", () => {
    const divided = parts([24, 8, 8], 532);
    expect(divided?.count).toBeGreaterThan(1);
    expect((divided?.blocks ?? 0) % 8).toBe(0);
  });

  test.each([
    { why: "it is not clearly longer than the target", grid: [24, 32, 1], us: 249 },
    { why: "it is one wave", grid: [12, 11, 1], us: 900 },
    { why: "any division has far more waves", grid: [5, 1, 140], us: 700 },
  ] as const)("stays whole where $why", ({ grid, us }) => {
    expect(parts(grid, us)).toBeUndefined();
  });

  test("is recognised by the names of cuBLAS's kernels", () => {
    expect(isProduct("_ZN7cutlass7Kernel2I57cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128")).toBe(
      true,
    );
    expect(isProduct("nvjet_sm90_tst_128x256_64x4_4x2_h_bz_coopA_NTN")).toBe(true);
    expect(isProduct("sm80_xmma_fprop_implicit_gemm_tf32f32_tilesize64x32x64")).toBe(false);
    expect(isProduct("vectorized_elementwise_kernel")).toBe(false);
  });
});

const gate = openGate();
const product = { ...kernel("sgemm_128x128", [24, 32, 1], 600), sm: 0.8, memory: 0.1 };

/** A training of one product, with or without a high client: the kernels that ran in 60 ms. */
function ran(splitProductsUs: number, high: boolean): number {
  gate.setRules({
    ...policyNamed("strict").rules({ isolated: true, high: [] }),
    splitProductsUs: us(splitProductsUs),
  });
  const machine = new Machine(h200(), { exclusive: true, seed: 1, spread: false });
  const board = new Board(gate);
  board.registered = high ? 1 : 0;
  const plan = planOf(
    {
      ...workload("product", [{ us: 600 }]),
      kernels: [product],
      sequence: [{ kernel: 0, gapNs: 0 }],
    },
    h200(),
    "kernels",
    TARGET_US,
  );
  const options = { slot: 0, priority: 0, waits: false, marks: true };
  const client = new BestEffort(machine, board, machine.contexts.add(), plan, options);
  client.start();
  machine.run(60e6);
  return client.stream.finished;
}

describe("a best-effort client", () => {
  test("launches the parts one by one, with room for a border between", () => {
    expect(ran(TARGET_US, true) / ran(0, true)).toBeGreaterThan(2.8);
  });

  test("leaves products whole without a high client", () => {
    expect(ran(TARGET_US, false)).toBe(ran(0, false));
  });
});
