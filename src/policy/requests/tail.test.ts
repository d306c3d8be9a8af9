import { expect, test } from "vitest";
import { mulberry32, quantile } from "#core";
import { noTail, quantileOfTail, type Tail, tailOf, withValues } from "./tail.ts";
import { lateInWindow, noWindows, tooManyLate } from "./windows.ts";

const random = mulberry32(5);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const exponential = () => -Math.log(1 - random());

const lengths = { excess: 0.5, alike: false };
const steps = { excess: 0.05, alike: true };

/** Told as the means of groups of this size. */
function told(groups: number, size: number, draw: () => number): Tail {
  let tail = noTail;
  for (let i = 0; i < groups; i++) {
    const mean = Array.from({ length: size }, draw).reduce((sum, value) => sum + value, 0) / size;
    tail = withValues(tail, { values: size, mean }, lengths, 0);
  }
  return tail;
}

/** A limit that hardly any value is above. */
const FAR = { limit: 1e9, late: 1 / 1600, lateAlone: 1 / 1600 };
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
      tail = withValues(tail, { values: 3, mean, each: known ? each : undefined }, lengths, 0);
    }
    return longest(tail);
  };
  let single = noTail;
  for (const value of values) single = withValues(single, { values: 1, mean: value }, lengths, 0);
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
  expect(withValues(noTail, { values: 0, mean: Number.NaN }, lengths, 0)).toBe(noTail);
});

test("one accident among many values hardly counts", () => {
  const usual = told(100, 1, exponential);
  const accident = withValues(usual, { values: 1, mean: 100 }, lengths, 0);
  expect(longest(accident)).toBeLessThan(1.5 * longest(usual));
});

test("five hundred values later the longest is forgotten", () => {
  let tail = withValues(noTail, { values: 1, mean: 100 }, lengths, 0);
  for (let i = 0; i < 500; i++)
    tail = withValues(tail, { values: 1, mean: 1 + (i % 7) / 10 }, lengths, 0);
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

/** Windows of ten seconds with so many values each, told one by one. */
function inWindows(windows: number, each: number, draw: (window: number) => number): Tail {
  let tail = noTail;
  for (let window = 0; window <= windows; window++)
    for (let i = 0; i < each; i++) {
      const group = { values: 1, mean: draw(window) };
      tail = withValues(tail, group, lengths, 10_000 * window + (9000 * i) / each);
    }
  return tail;
}

/** As the engine allows for so many requests in a window. */
const allowed = (each: number) => ({
  limit: 1e9,
  late: 1 / (100 * each),
  lateAlone: lateInWindow(each) / each,
});

const p99Of = (draw: () => number, each: number) =>
  quantile(
    Array.from({ length: 2000 }, () => quantile(Array.from({ length: each }, draw), 0.99)),
    0.99,
  );

test("of many requests in each window one may be longer than the limit", () => {
  const known = Array.from({ length: 20 }, () => inWindows(30, 130, exponential));
  const [tail, single] = [known, known.map((one) => ({ ...one, windows: noWindows }))].map(
    (tails) => middle(tails.map((one) => tailOf(one, lengths, allowed(130)) ?? Number.NaN)),
  );
  const truth = p99Of(exponential, 130);
  expect(tail).toBeGreaterThan(0.95 * truth);
  expect(tail).toBeLessThan((truth + (single ?? Number.NaN)) / 2);
});

test("of six requests in each window hardly one may be", () => {
  const tail = inWindows(60, 6, exponential);
  expect(tailOf(tail, lengths, allowed(6))).toBeGreaterThan(
    0.9 * (tailOf({ ...tail, windows: noWindows }, lengths, allowed(6)) ?? Number.NaN),
  );
});

test("where long ones come together the windows lower the tail less", () => {
  let last = 0;
  let drawn = 0;
  const fiveAlike = () => {
    if (drawn++ % 5 === 0) last = exponential();
    return last;
  };
  const [together = 0, apart = 0] = [fiveAlike, exponential].map((draw) =>
    middle(
      Array.from({ length: 20 }, () => {
        const tail = inWindows(40, 130, draw);
        const single = tailOf({ ...tail, windows: noWindows }, lengths, allowed(130));
        return (tailOf(tail, lengths, allowed(130)) ?? Number.NaN) / (single ?? Number.NaN);
      }),
    ),
  );
  expect(apart).toBeLessThan(0.9);
  expect(together).toBeGreaterThan(apart + 0.05);
});

test("the more requests in a window, the more of them may be late", () => {
  expect(lateInWindow(1)).toBeCloseTo(0.01);
  expect(lateInWindow(16)).toBeCloseTo(0.02, 3);
  expect([51, 100, 300].map(lateInWindow)).toEqual([0.1, 0.1, 0.1].map((x) => expect.closeTo(x)));
  expect([1, 99, 131, 250].map(tooManyLate)).toEqual([1, 1, 2, 3]);
});

test.each([
  ["p50", 1],
  ["p90", Math.exp(0.5 * 1.2816)],
  ["p95", Math.exp(0.5 * 1.6449)],
  ["mean", Math.exp(0.125)],
] as const)(
  "the %s of lognormal values is near the true one, and hardly ever below",
  (which, is) => {
    const found = Array.from(
      { length: 200 },
      () => quantileOfTail(told(200, 1, lognormal), lengths, which) ?? Number.NaN,
    );
    expect(middle(found) / is).toBeGreaterThan(0.97);
    expect(middle(found) / is).toBeLessThan(1.25);
    const below = found.filter((one) => one < is).length / found.length;
    expect(below).toBeLessThan(which === "mean" ? 0.65 : 0.12);
  },
);

test("no quantile is known of fewer than five groups", () => {
  expect(quantileOfTail(told(4, 1, lognormal), lengths, "p50")).toBeUndefined();
});
