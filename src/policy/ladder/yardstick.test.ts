import { describe, expect, test } from "vitest";
import { bucketCount, bucketMiddle, bucketOf } from "#protocol";
import {
  burstsOf,
  limitsOf,
  medianLimitsOf,
  noBursts,
  quantilesOf,
  sumOf,
  tally,
} from "./yardstick.ts";

const ANY = Number.POSITIVE_INFINITY;
const alone = { p99Us: 8000, waitedP99Us: 40 };

const count = (...of: readonly (readonly [us: number, count: number])[]): Uint32Array => {
  const counts = new Uint32Array(bucketCount);
  for (const [us, count] of of) counts[bucketOf(us * 1000)] = count;
  return counts;
};

describe("what a burst may not pass", () => {
  const time = { p99Us: 9000, slowdown: undefined };
  const part = { p99Us: undefined, slowdown: 0.1 };
  const both = { p99Us: 9000, slowdown: 0.1 };

  test.each([
    {
      what: "a time is about all of it",
      objective: time,
      limits: { lastedUs: 9000, waitedUs: ANY },
    },
    {
      what: "a slowdown is about its wait: a part of the p99 alone more than it waits alone",
      objective: part,
      limits: { lastedUs: ANY, waitedUs: 840 },
    },
    { what: "of both, both", objective: both, limits: { lastedUs: 9000, waitedUs: 840 } },
  ])("$what", ({ objective, limits }) => {
    expect(limitsOf(objective, alone)).toEqual(limits);
  });

  test("of a slowdown is not known before it was seen alone", () => {
    expect(limitsOf(time, undefined)).toBeDefined();
    expect(limitsOf(both, undefined)).toBeUndefined();
    expect(medianLimitsOf(both, undefined)).toBeUndefined();
  });

  test("is, where bursts stand for waits, so much more than the p99 alone", () => {
    const waiting = { p99Us: 8000, waitedP99Us: 8000 };
    expect(limitsOf(part, waiting)?.waitedUs).toBeCloseTo(8800);
  });

  test("bounds the median burst whole as well", () => {
    expect(medianLimitsOf(part, alone)?.lastedUs).toBeCloseTo(8800);
    expect(medianLimitsOf({ ...both, p99Us: 8500 }, alone)?.lastedUs).toBe(8500);
    expect(medianLimitsOf(time, alone)).toEqual(limitsOf(time, alone));
    expect(medianLimitsOf(undefined, alone)).toEqual({ lastedUs: ANY, waitedUs: ANY });
  });
});

describe("bursts are tallied", () => {
  const seen = {
    lasted: count([5000, 90], [9500, 10]),
    waited: count([20, 96], [2000, 4]),
  };

  test.each([
    {
      what: "by the one that more have passed",
      limits: { lastedUs: 9000, waitedUs: 840 },
      above: 10,
    },
    { what: "by their waits", limits: { lastedUs: ANY, waitedUs: 840 }, above: 4 },
    { what: "by nothing", limits: undefined, above: 0 },
  ])("$what", ({ limits, above }) => {
    expect(tally(seen, limits)).toMatchObject({ bursts: 100, above });
  });

  test("by what is longer than a limit, and not by what just reaches it", () => {
    const us = bucketMiddle(bucketOf(9_500_000));
    const above = (lastedUs: number) => tally(seen, { lastedUs, waitedUs: ANY }).above;
    expect([us - 1, us].map(above)).toEqual([10, 0]);
  });

  test("as waits altogether where nobody reports these, and as none where there are none", () => {
    const high = { id: "a", name: "high", burstP50Us: 5000, objective: undefined };
    const whole = burstsOf({ ...high, ended: seen.lasted });
    expect(tally(whole, { lastedUs: ANY, waitedUs: 840 }).above).toBe(100);
    expect(tally(whole, undefined).waitedUs / (90 * 5000 + 10 * 9500)).toBeCloseTo(1, 2);
    expect(burstsOf({ ...high, ended: seen.lasted, waited: seen.waited })).toEqual(seen);
    expect(burstsOf({ ...high, ended: undefined, waited: seen.waited })).toEqual(noBursts);
    expect(tally(noBursts, undefined)).toMatchObject({ bursts: 0, above: 0, waitedUs: 0 });
  });

  test("with the time that they waited", () => {
    expect(tally(seen, undefined).waitedUs / (96 * 20 + 4 * 2000)).toBeCloseTo(1, 2);
  });

  test("with those seen before", () => {
    const all = sumOf(seen, { lasted: seen.lasted, waited: undefined });
    expect(tally(all, undefined).bursts).toBe(200);
    expect(quantilesOf(all, 0.99).waitedP99Us / 2000).toBeCloseTo(1, 2);
  });
});
