import { expect, test } from "vitest";
import { mulberry32 } from "#core";
import { noTail, type Tail, tailOf, withValues } from "./tail.ts";

const random = mulberry32(5);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const exponential = () => -Math.log(1 - random());

/** Told as the means of groups of this size. */
function told(groups: number, size: number, draw: () => number): Tail {
  let tail = noTail;
  for (let i = 0; i < groups; i++) {
    const mean = Array.from({ length: size }, draw).reduce((sum, value) => sum + value, 0) / size;
    tail = withValues(tail, { values: size, mean });
  }
  return tail;
}

/** A limit that hardly any value is above. */
const FAR = { limit: 1e9, late: 1 / 1600 };
const lengths = { excess: 0.5, alike: false };
const steps = { excess: 0.05, alike: true };
const longest = (tail: Tail) => tailOf(tail, lengths, FAR) ?? Number.NaN;
const lognormal = () => Math.exp(0.5 * normal());
/** One in 1600 is longer. */
const truth = Math.exp(0.5 * 3.23);
const middle = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

test.each([
  [8, 1],
  [30, 1],
  [100, 1],
  [400, 1],
  [50, 2],
  [50, 3],
])(
  "of %d means of %d lognormal values the tail is near what one in 1600 exceed",
  (groups, size) => {
    const tails = Array.from({ length: 200 }, () => longest(told(groups, size, lognormal)));
    expect(middle(tails)).toBeGreaterThan(0.8 * truth);
    expect(middle(tails)).toBeLessThan(1.7 * truth);
    const late = tails.flatMap((tail) =>
      Array.from({ length: 100 }, lognormal).map((v) => v > tail),
    );
    expect(late.filter(Boolean).length / late.length).toBeLessThan(1 / 400);
  },
);

test("the spread of single values follows from means of ten", () => {
  const tails = Array.from({ length: 100 }, () => longest(told(100, 10, lognormal)));
  expect(middle(tails)).toBeGreaterThan(truth * 0.8);
  expect(middle(tails)).toBeLessThan(truth * 1.7);
});

test("values with a short tail are not taken for lognormal ones", () => {
  const tail = longest(told(400, 1, exponential));
  expect(tail).toBeGreaterThan(Math.log(1600) * 0.8);
  expect(tail).toBeLessThan(Math.log(1600) * 1.5);
});

test("values that are alike are told from a few, and more closely from more", () => {
  const alike = (groups: number) => {
    const tail = told(groups, 1, () => 40 + normal());
    return tailOf(tail, steps, FAR);
  };
  expect(alike(8)).toBeLessThan(60);
  expect(alike(100)).toBeLessThan(48);
});

test("of means of the same steps each value is the mean", () => {
  const tail = told(60, 4, lognormal);
  expect(tailOf(tail, { ...lengths, alike: true }, FAR)).toBeLessThan(0.9 * longest(tail));
});

test("values that are known each are not taken for wider than they are", () => {
  const values = Array.from({ length: 90 }, lognormal);
  const grouped = (known: boolean) => {
    let tail = noTail;
    for (let i = 0; i < values.length; i += 3) {
      const each = values.slice(i, i + 3);
      const mean = each.reduce((sum, value) => sum + value, 0) / 3;
      tail = withValues(tail, { values: 3, mean, each: known ? each : undefined });
    }
    return longest(tail);
  };
  let single = noTail;
  for (const value of values) single = withValues(single, { values: 1, mean: value });
  expect(grouped(true)).toBeGreaterThan(0.9 * longest(single));
  expect(grouped(true)).toBeLessThan(1.1 * longest(single));
  expect(grouped(true)).not.toBeCloseTo(grouped(false), 1);
});

test("values of which few may be late are taken for longer", () => {
  const tail = told(400, 1, exponential);
  const [usual = 0, rare = 0] = [FAR.late, 1 / 20_000].map(
    (late) => tailOf(tail, lengths, { ...FAR, late }) ?? 0,
  );
  expect(rare).toBeGreaterThan(1.2 * usual);
});

test("where the spread of all values is known, what is usual counts less", () => {
  const narrow = told(60, 1, () => 40 + normal());
  expect(longest(narrow)).toBeLessThan(60);
  expect(longest(told(8, 1, () => 40 + normal()))).toBeGreaterThan(60);
});

test("four values tell nothing, and no values change nothing", () => {
  expect(longest(told(4, 1, lognormal))).toBeNaN();
  expect(withValues(noTail, { values: 0, mean: Number.NaN })).toBe(noTail);
});

test("one accident among many values hardly counts", () => {
  const usual = told(100, 1, exponential);
  expect(longest(withValues(usual, { values: 1, mean: 100 }))).toBeLessThan(1.5 * longest(usual));
});

test("five hundred values later the longest is forgotten", () => {
  let tail = withValues(noTail, { values: 1, mean: 100 });
  for (let i = 0; i < 500; i++) tail = withValues(tail, { values: 1, mean: 1 + (i % 7) / 10 });
  expect(longest(tail)).toBeLessThan(2.5);
});

test("values that are above the limit anyway do not count, unless they are more than one in 800", () => {
  const tail = told(400, 1, lognormal);
  const far = longest(tail);
  const [near = 0, nearer = 0] = [1, 0.8].map(
    (part) => tailOf(tail, lengths, { ...FAR, limit: part * far }) ?? 0,
  );
  expect(near).toBeLessThan(0.95 * far);
  expect(nearer).toBeCloseTo(near);
  expect(nearer).toBeGreaterThan(0.8 * far);
});
