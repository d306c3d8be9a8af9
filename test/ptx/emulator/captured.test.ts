// Triton's products and attention, which use Hopper's warp groups and tensor copies: do they compute what they should,
// and do their variants leave the same memory?
import { expect, test } from "vitest";
import { byteFloat, decode, encode, launch } from "#emulator";
import { type CapturedCase, capturedCase, capturedNames } from "./captured.ts";
import { compare } from "./differential.ts";

const names = capturedNames();

function caseOf(name: string): CapturedCase {
  const one = capturedCase(name);
  if (one === undefined) throw new Error(`${name} has no small arguments`);
  return one;
}

function numbers(type: string | undefined, bytes: Uint8Array): Float64Array {
  const { buffer } = bytes;
  switch (type) {
    case "bfloat16":
      return Float64Array.from(new Uint16Array(buffer), decode.bf16);
    case "float16":
      return Float64Array.from(new Uint16Array(buffer), decode.f16);
    case "float32":
      return Float64Array.from(new Float32Array(buffer));
    default:
      return Float64Array.from(bytes, (byte) => byteFloat(byte, "e4m3"));
  }
}

/** Buffers before and after a launch, as numbers. */
function run(one: CapturedCase): { before: Float64Array[]; after: Float64Array[] } {
  const { memory, args, contents } = one.fresh();
  const all = () => contents().map((bytes, i) => numbers(one.types[i], bytes));
  const before = all();
  launch(one.plain, one.kernel, { ...one, args, memory });
  return { before, after: all() };
}

test.each(names.filter((name) => name.startsWith("matmul")))("%s is the product", (name) => {
  const one = caseOf(name);
  const { before, after } = run(one);
  const [a, b, c] = before as [Float64Array, Float64Array, Float64Array];
  const [m = 0, n = 0, k = 0] = one.scalars;
  const byColumns = /transposed|descriptors/.test(one.kernel);
  const added = one.kernel === "matmul_split";
  const wanted = Float64Array.from({ length: m * n }, (_, i) => {
    const [row, column] = [Math.floor(i / n), i % n];
    let sum = added ? (c[i] as number) : 0;
    for (let j = 0; j < k; j++)
      sum +=
        (a[row * k + j] as number) * (b[byColumns ? column * k + j : j * n + column] as number);
    return one.types[2] === "bfloat16" ? decode.bf16(encode(sum, "bf16", "rn")) : sum;
  });
  expect(after[2]).toEqual(wanted);
});

test.each(["attention", "attention_128", "attention_small"])("%s is attention", (name) => {
  const one = caseOf(name);
  const { before, after } = run(one);
  const [q, k, v] = before as [Float64Array, Float64Array, Float64Array];
  const [out, lse] = after.slice(3) as [Float64Array, Float64Array];
  const [scale = 0, n = 0] = one.scalars;
  const heads = one.grid[1];
  const width = q.length / heads / n;
  const causal = name !== "attention_small";
  let worst = 0;
  for (let head = 0; head < heads; head++)
    for (let row = 0; row < n; row += 7) {
      const at = (all: Float64Array, r: number, d: number) => all[(head * n + r) * width + d] ?? 0;
      const scores = Array.from({ length: causal ? row + 1 : n }, (_, r) => {
        let sum = 0;
        for (let d = 0; d < width; d++) sum += at(q, row, d) * at(k, r, d);
        return sum * scale;
      });
      const weights = scores.map((score) => 2 ** score);
      const total = weights.reduce((all, one) => all + one, 0);
      worst = Math.max(worst, Math.abs((lse[head * n + row] ?? 0) - Math.log2(total)));
      for (let d = 0; d < width; d += 5) {
        const sum = weights.reduce((all, weight, r) => all + weight * at(v, r, d), 0);
        worst = Math.max(worst, Math.abs(at(out, row, d) - sum / total));
      }
    }
  // bf16 keeps 8 bits of weights and results, which are below 1.
  expect(worst).toBeLessThan(1 / 128);
});

const effort = {
  workers: [2],
  // An order in which copies come late.
  seeds: [1],
  widths: [1],
  everyStop: true,
  stoppedBy: ["counter"],
} as const;

test.each([
  ["matmul_bf16_small", ["slice", "preempt"]],
  ["matmul_descriptors", ["slice", "preempt"]],
  ["matmul_specialised-matmul_descriptors", ["slice"]],
  ["attention_small", ["slice", "preempt"]],
])("%s and its variants leave the same memory", (name, wanted) => {
  const { variants, differences } = compare(caseOf(name), effort);
  expect(differences).toEqual([]);
  expect(variants).toEqual(wanted);
});
