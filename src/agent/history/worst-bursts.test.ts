import { expect, test } from "vitest";
import { type Burst, WorstBursts } from "./worst-bursts.ts";

const burst = (at: number, lastedUs: number, change: Partial<Burst> = {}): Burst => ({
  at,
  lastedUs,
  waitedUs: lastedUs / 2,
  aheadUs: 7,
  aheadSlot: undefined,
  beside: false,
  step: false,
  ...change,
});

const noted = (...bursts: readonly Burst[]) => {
  const worst = new WorstBursts();
  for (const one of bursts) worst.note(one);
  return worst;
};

test("the longest ten come first, whatever the order in which they ended", () => {
  const lengths = Array.from({ length: 40 }, (_, i) => (i * 17) % 41);
  const worst = noted(...lengths.map((lastedUs, at) => burst(at, lastedUs)));
  const longest = [...lengths].sort((a, b) => b - a).slice(0, 10);
  expect(worst.worst(60).map(({ lastedUs }) => lastedUs)).toEqual(longest);
});

test("a burst is forgotten after 15 minutes, and its place is used again", () => {
  const worst = noted(burst(0, 1000), burst(60, 10));
  expect(worst.worst(899).map(({ at }) => at)).toEqual([0, 60]);
  expect(worst.worst(901).map(({ at }) => at)).toEqual([60]);
  worst.note(burst(901, 5));
  expect(worst.worst(902).map(({ at }) => at)).toEqual([60, 901]);
});

test("what ran ahead is kept with it, also that nobody did", () => {
  const both = [burst(2, 9, { aheadSlot: 0, beside: true }), burst(1, 8)];
  expect(noted(...both).worst(3)).toEqual(both);
});

test("its memory does not grow with the bursts", () => {
  const worst = new WorstBursts();
  const { bytes } = worst;
  for (let at = 0; at < 5000; at++) worst.note(burst(at, at));
  expect([worst.bytes, worst.worst(5000).length]).toEqual([bytes, 10]);
  expect(bytes).toBe(15 * 10 * 7 * 8);
});
