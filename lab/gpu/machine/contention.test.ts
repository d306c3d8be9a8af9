import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Capacity, contend, type Demanding } from "./contention.ts";

const kernel = (...need: number[]): Demanding => ({ need: Float64Array.from(need), slowdown: 0 });
const slowdowns = (kernels: readonly Demanding[], capacity: Capacity = [1, 1, 1]) => {
  contend(kernels, kernels.length, capacity);
  return kernels.map(({ slowdown }) => slowdown);
};

describe("kernels side by side", () => {
  test.each([
    { name: "one alone has its profile's speed", needs: [[0.5, 0.99, 1]], expected: [1] },
    {
      name: "what fits does not slow down",
      needs: [
        [0.5, 0.4, 0],
        [0.5, 0.5, 0],
      ],
      expected: [1, 1],
    },
    {
      name: "two of a kind share what they are short of",
      needs: [
        [0.1, 0.8, 0],
        [0.1, 0.8, 0],
      ],
      expected: [1.6, 1.6],
    },
    {
      name: "unequal ones get parts in proportion to what they asked for",
      needs: [
        [0, 0.9, 0],
        [0, 0.3, 0],
      ],
      expected: [1.2, 1.2],
    },
    {
      name: "who does not use it is not held up",
      needs: [
        [0, 1, 0],
        [0.9, 0, 0],
        [0, 1, 0],
      ],
      expected: [2, 1, 2],
    },
  ])("$name", ({ needs, expected }) => {
    const got = slowdowns(needs.map((need) => kernel(...need)));
    for (const [i, slowdown] of got.entries()) expect(slowdown).toBeCloseTo(expected[i] ?? 0, 6);
  });

  test("a kernel is slowed less by contention for a resource that it needs less", () => {
    const [conv = 0, batchNorm = 0] = slowdowns([kernel(0.6, 0.2, 0), kernel(0.1, 0.9, 0)]);
    expect(conv).toBeGreaterThan(1);
    expect(batchNorm).toBeGreaterThan(conv);
  });

  test("no more is used than there is, and no kernel gets faster", () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    const capacity = fc.double({ min: 0.5, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.array(fc.tuple(part, part, part), { minLength: 1, maxLength: 8 }),
        fc.tuple(capacity, capacity, capacity),
        (needs, most) => {
          const kernels = needs.map((need) => kernel(...need));
          const got = slowdowns(kernels, most);
          for (const slowdown of got) expect(slowdown).toBeGreaterThanOrEqual(1);
          most.forEach((limit, r) => {
            const used = needs.reduce((sum, need, i) => sum + (need[r] ?? 0) / (got[i] ?? 1), 0);
            const largest = Math.max(...needs.map((need) => need[r] ?? 0));
            expect(used).toBeLessThanOrEqual(Math.max(limit, largest) * (1 + 1e-6));
          });
        },
      ),
    );
  });
});
