import { describe, expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import { type Counted, canBe } from "./plausible.ts";

const SECOND = 1e9;
const look: Counted = { bursts: [10, 10], launches: 100, busyNs: 5e9, aheadNs: 7 };
const time = { ns: SECOND / 4, between: SECOND / 4 };

/** A histogram with `count` bursts of `us` microseconds for each pair. */
function counts(...bursts: readonly (readonly [count: number, us: number])[]): Uint32Array {
  const all = new Uint32Array(bucketCount);
  for (const [count, us] of bursts) all[bucketOf(us * 1000)] = count;
  return all;
}

/** Two more bursts, of 20 ms each. */
const later: Counted = { bursts: [12, 12], launches: 140, busyNs: 5.04e9, aheadNs: 7 };
const twenty = { durations: counts([2, 20_000]), waits: counts([2, 3000]) };

test("what an undisturbed client counts can be", () => {
  expect(canBe(look, later, twenty, time)).toBe(true);
  expect(canBe(look, look, undefined, time)).toBe(true);
});

describe("what is taken back can't be", () => {
  test.each([
    { what: "bursts", to: { ...later, bursts: [9, 9] as const } },
    { what: "launches", to: { ...later, launches: 99 } },
    { what: "the time in bursts", to: { ...later, busyNs: 4.99e9 } },
    { what: "the queued-ahead work met", to: { ...later, aheadNs: 6 } },
  ])("$what", ({ to }) => {
    expect(canBe(look, to, undefined, time)).toBe(false);
  });
});

test("time in bursts is at most the time that has passed, and a second by which the agent may be late", () => {
  const busy = (ns: number) => canBe(look, { ...look, busyNs: look.busyNs + ns }, undefined, time);
  expect(busy(1.25 * SECOND)).toBe(true);
  expect(busy(1.25 * SECOND + 1)).toBe(false);
});

test("launches are at most as many as a process could make", () => {
  const launched = (count: number) =>
    canBe(look, { ...look, launches: look.launches + count }, undefined, time);
  expect(launched(25e6)).toBe(true);
  expect(launched(25e6 + 1)).toBe(false);
});

describe("bursts that the histograms and the count do not agree about can't be", () => {
  const counted = (durations: number, waits: number, bursts: readonly [number, number]) =>
    canBe(
      look,
      { ...later, bursts },
      { durations: counts([durations, 100]), waits: counts([waits, 50]) },
      time,
    );

  test("but for one on its way from one to the other", () => {
    const here = [12, 12] as const;
    for (const [durations, waits] of [
      [2, 2],
      [3, 2],
      [1, 2],
      [3, 3],
    ] as const)
      expect(counted(durations, waits, here)).toBe(true);
    expect(counted(4, 2, here)).toBe(false);
    expect(counted(2, 4, here)).toBe(false);
    expect(counted(0, 2, here)).toBe(false);
    expect(counted(2, 0, here)).toBe(false);
  });

  test("and those that ended while they were read", () => {
    expect(counted(6, 6, [12, 15])).toBe(true);
    expect(counted(7, 6, [12, 15])).toBe(false);
    const from = { ...look, bursts: [10, 14] as const };
    const to = { ...later, bursts: [15, 15] as const };
    const none = { durations: counts(), waits: counts() };
    expect(canBe(from, to, none, time)).toBe(true);
    expect(canBe(from, { ...to, bursts: [16, 16] }, none, time)).toBe(false);
  });
});

describe("bursts of one client follow one another", () => {
  const lasting = (us: number, ns: number) =>
    canBe(look, later, { durations: counts([2, us]), waits: counts() }, { ...time, ns });

  test("so together they last no longer than the time that they had", () => {
    const none = { ...later, bursts: [10, 10] as const };
    expect(canBe(look, none, { durations: counts([1, 1.2e6]), waits: counts() }, time)).toBe(true);
    expect(canBe(look, none, { durations: counts([1, 1.3e6]), waits: counts() }, time)).toBe(false);
  });

  test("and a burst that began long before this look may end in it", () => {
    const one = { ...later, bursts: [11, 11] as const };
    const minute = { durations: counts([1, 6e7]), waits: counts([1, 6e7]) };
    expect(canBe(look, one, minute, { ...time, ns: 61 * SECOND })).toBe(true);
    expect(canBe(look, one, minute, { ...time, ns: 10 * SECOND })).toBe(false);
    expect(lasting(20_000, Number.POSITIVE_INFINITY)).toBe(false); // two bursts, no waits
  });
});

describe("bursts wait no longer than they last", () => {
  const waiting = (durations: Uint32Array, waits: Uint32Array) =>
    canBe(look, later, { durations, waits }, time);

  test("all together, but for one that is in one histogram only", () => {
    expect(waiting(counts([2, 1000]), counts([2, 1000]))).toBe(true);
    expect(waiting(counts([2, 1000]), counts([1, 1900], [1, 90_000]))).toBe(true);
    expect(waiting(counts([2, 1000]), counts([2, 90_000]))).toBe(false);
  });

  test("where the last bucket holds all that is longer", () => {
    const longest = new Uint32Array(bucketCount);
    longest[bucketCount - 1] = 1;
    const one = { ...look, bursts: [11, 11] as const };
    const ended = { durations: longest, waits: counts([2, 6e7]) };
    expect(canBe(look, one, ended, { ...time, ns: 1000 * SECOND })).toBe(true);
  });

  test("where the first bucket holds all that is shorter", () => {
    const many: Counted = { ...look, bursts: [2_000_010, 2_000_010] };
    const ended = { durations: counts([2_000_000, 0.1]), waits: counts([2_000_000, 0.1]) };
    expect(canBe(look, many, ended, { ...time, ns: 0 })).toBe(true);
  });
});
