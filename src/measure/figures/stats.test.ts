import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quantile } from "#core";
import { meanRatio, type Pair, rate, slowdowns } from "./stats.ts";

const oneTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1);

describe("quantile", () => {
  test("is the nearest rank", () => {
    expect(quantile(oneTo(100), 0.99)).toBe(99);
    expect(quantile([7], 0.5)).toBe(7);
    expect(quantile([], 0.5)).toBeNaN();
  });

  test("is one of the values, with the right share at or below it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(1e6), { minLength: 1 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (values, q) => {
          const found = quantile(values, q);
          expect(values).toContain(found);
          expect(values.filter((v) => v <= found).length).toBeGreaterThanOrEqual(q * values.length);
        },
      ),
    );
  });
});

describe("slowdowns", () => {
  test("by a constant factor is that factor, whatever is drawn", () => {
    const rounds = Array.from({ length: 3 }, () => oneTo(100).map((i): Pair => [i, 2 * i]));
    const two = { value: 2, low: 2, high: 2, rounds: [2, 2, 2] };
    expect(slowdowns(rounds, [0.5, 0.99])).toEqual([two, two]);
  });

  test("lies in its interval, which widens with the spread", () => {
    const rounds = [oneTo(200).map((i): Pair => [10 + (i % 7), 12 + ((i * i) % 11)])];
    const [found] = slowdowns(rounds, [0.95]);
    expect(found?.low).toBeLessThanOrEqual(found?.value ?? 0);
    expect(found?.high).toBeGreaterThanOrEqual(found?.value ?? 9);
  });

  test("covers the true ratio about as often as it says", () => {
    // Exponential times, co-located twice as long: the true ratio is 2 at every quantile.
    let covered = 0;
    const runs = 60;
    let seed = 1;
    const random = () => {
      seed = (seed * 48271) % 2147483647;
      return seed / 2147483647;
    };
    for (let run = 0; run < runs; run++) {
      const pairs = oneTo(500).map((): Pair => [-Math.log(random()), -2 * Math.log(random())]);
      const [found] = slowdowns([pairs], [0.5]);
      if (found && found.low <= 2 && 2 <= found.high) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(0.85 * runs);
  });
});

test("too little to draw from has no interval", () => {
  const [found] = slowdowns([oneTo(50).map((i): Pair => [i, i])], [0.5]);
  expect(found).toMatchObject({ value: 1, low: Number.NaN, high: Number.NaN });
  expect(meanRatio([[2, 1]])).toMatchObject({ value: 0.5, low: Number.NaN });
});

test("a mean ratio pools rounds", () => {
  const found = meanRatio([
    [10, 5],
    [20, 15],
  ]);
  expect(found.value).toBeCloseTo(20 / 30);
  expect(found.rounds).toEqual([0.5, 0.75]);
  expect(found.low).toBeGreaterThanOrEqual(0.5);
  expect(found.high).toBeLessThanOrEqual(0.75);
});

test("a rate does not depend on where the window falls among the iterations", () => {
  const done = oneTo(100).map((i) => i * 1e8);
  for (const start of [1e9, 1.03e9, 1.099e9])
    expect(rate(done, start, start + 3.05e9)).toBeCloseTo(10);
});
