import { expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import { type EndedWork, MIN_SAMPLES, SlowdownEvidence } from "./slowdown-evidence.ts";

/** Solo: a p99 of 5 ms, all of it waiting. */
const reference = { p99Us: 5000, waitedP99Us: 5000 };

/** Evidence with a clock that goes on by a quarter of a second at each sample. */
function collected() {
  const evidence = new SlowdownEvidence();
  let at = 0;
  /** `count` bursts of `ms` each, in which they waited all the time. */
  const add = (count: number, ms: number, more: Partial<EndedWork> = {}) => {
    at += 250e6;
    const counts = new Uint32Array(bucketCount);
    counts[bucketOf(ms * 1e6)] = count;
    const ended = count > 0 ? counts : undefined;
    const usual = { at, unit: "burst", durations: ended, waits: ended, concurrent: true } as const;
    evidence.add({ ...usual, ...more });
    return evidence.slowdown(at, reference);
  };
  return { add, slowdown: (known: typeof reference | undefined) => evidence.slowdown(at, known) };
}

test("a client that gets slower solo has no slowdown, however slow it is", () => {
  const { add } = collected();
  for (let look = 0; look < 200; look++)
    expect(add(50, 5 + 10 * look, { concurrent: false })).toBe(undefined);
});

test("bursts that ended while best-effort work ran are compared with the solo ones", () => {
  const { add, slowdown } = collected();
  expect(add(MIN_SAMPLES, 15)).toBeCloseTo(2, 1);
  expect(slowdown(undefined)).toBe(undefined);
});

test("fewer than the minimum are no evidence, until enough have come within a minute", () => {
  const { add } = collected();
  expect(add(MIN_SAMPLES - 1, 1000)).toBe(undefined);
  for (let look = 0; look < 100; look++) add(0, 0);
  expect(add(1, 1000)).toBeGreaterThan(100);
  for (let look = 0; look < 4 * 40; look++) add(0, 0);
  expect(add(1, 1000)).toBe(undefined);
});

test("nothing is measured once best-effort work has not run for some seconds", () => {
  const { add } = collected();
  expect(add(MIN_SAMPLES, 15)).toBeCloseTo(2, 1);
  for (let look = 0; look < 16; look++) expect(add(0, 0, { concurrent: false })).toBeCloseTo(2, 1);
  expect(add(0, 0, { concurrent: false })).toBe(undefined);
  // Bursts that ended meanwhile do not count when it runs again.
  expect(add(1, 5)).toBeCloseTo(2, 1);
});

test("it does not rise while best-effort work does not run", () => {
  const { add } = collected();
  for (let look = 0; look < 8; look++) add(MIN_SAMPLES, 5);
  const before = add(2, 15) ?? Infinity; // too few to be above the p99, while the others count
  for (let look = 0; look < 16; look++)
    expect(add(0, 0, { concurrent: false }) ?? Infinity).toBeLessThanOrEqual(before);
});

test("who was as slow solo in the last minutes is not slowed down by best-effort work", () => {
  const { add } = collected();
  for (let look = 0; look < 20; look++) add(5, 100, { concurrent: false });
  expect(add(MIN_SAMPLES, 100)).toBeCloseTo(0, 1);
  expect(add(MIN_SAMPLES, 200)).toBeCloseTo(1, 1);
});

test("observations that contradict each other are evidence for nothing", () => {
  const { add } = collected();
  expect(add(MIN_SAMPLES, 100, { concurrent: undefined })).toBe(undefined);
  expect(add(MIN_SAMPLES, 15)).toBeCloseTo(2, 1);
});

test("bursts judge no steps, and steps no bursts", () => {
  const { add } = collected();
  for (let look = 0; look < 20; look++) add(5, 100, { concurrent: false });
  expect(add(MIN_SAMPLES, 100)).toBeCloseTo(0, 1);
  expect(add(1, 100, { unit: "step" })).toBe(undefined);
  expect(add(MIN_SAMPLES, 100, { unit: "step" })).toBeCloseTo(19, 0);
});
