import fc from "fast-check";
import { expect, test } from "vitest";
import { sfc32 } from "#core";
import { drawLengths, parseLengths } from "./lengths.ts";

const many = (text: string, most?: number) => {
  const draw = drawLengths(parseLengths(text, "output"), sfc32(3), most);
  return Array.from({ length: 20_000 }, draw);
};
const mean = (values: readonly number[]) => values.reduce((sum, n) => sum + n, 0) / values.length;

test("a number is the length of all", () => {
  expect(new Set(many("512"))).toEqual(new Set([512]));
});

test("lognormal lengths have the mean and the spread asked for", () => {
  const drawn = many("lognormal:400,0.8");
  const average = mean(drawn);
  expect(average / 400).toBeCloseTo(1, 1);
  expect(Math.sqrt(mean(drawn.map((n) => (n - average) ** 2))) / average / 0.8).toBeCloseTo(1, 1);
});

test("ShareGPT's answers are longer than its prompts", () => {
  expect(parseLengths("sharegpt", "prompt").mean).toBe(161.31);
  expect(parseLengths("sharegpt", "output").mean).toBe(337.99);
});

test("lengths are whole, at least 1 and at most what is allowed", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.nat(),
      fc.integer({ min: 1, max: 99 }),
      (m, seed, most) => {
        const draw = drawLengths({ mean: m, cv: 3 }, sfc32(seed), most);
        const drawn = Array.from({ length: 50 }, draw);
        expect(drawn.every((n) => Number.isInteger(n) && n >= 1 && n <= most)).toBe(true);
      },
    ),
  );
});

test.each(["0", "1.5", "lognormal:5", "lognormal:0,1", "lognormal:9,99", "chat", ""])(
  '"%s" is no length',
  (text) => {
    expect(() => parseLengths(text, "prompt")).toThrow(`--prompt ${text} is no length in tokens.`);
  },
);
