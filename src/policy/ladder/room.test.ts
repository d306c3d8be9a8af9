import { describe, expect, test } from "vitest";
import { us } from "#core";
import { bucketCount, bucketOf, type Rules, whenActive } from "#protocol";
import { strict } from "../parameters/strict.ts";
import { addedUs, holdClearly, isHopeless, wouldHold } from "./room.ts";

const rules = (more: Partial<Rules> = {}, isolated = true): Rules => ({
  ...strict.rules({ isolated, high: [] }),
  ...more,
});

const bursts = (...of: readonly (readonly [us: number, count: number])[]): Uint32Array => {
  const counts = new Uint32Array(bucketCount);
  for (const [us, count] of of) counts[bucketOf(us * 1000)] = count;
  return counts;
};

test.each([
  ["longer chunks: what they are longer", rules(), rules({ chunkUs: us(500) }), 300],
  [
    "no resume delay: a chunk",
    rules({ chunkUs: us(500) }),
    rules({ chunkUs: us(500), resumeDelayUs: 0 }),
    500,
  ],
  [
    "no resume delay as before: what chunks are longer",
    rules({ chunkUs: us(500), resumeDelayUs: 0 }),
    rules({ chunkUs: us(800), resumeDelayUs: 0 }),
    300,
  ],
  [
    "a chunk concurrent with requests: nobody knows",
    rules(),
    rules({ coRunEveryUs: us(800) }),
    Infinity,
  ],
  ["not held: nobody knows", rules(), rules({ whenActive: whenActive.allow }), Infinity],
] as const)("%s", (_, from, to, us) => {
  expect(addedUs(from, to)).toBe(us);
});

describe("a level with chunks of 1 ms more", () => {
  const added = 1000;
  const limits = { lastedUs: 5000, waitedUs: Number.POSITIVE_INFINITY };
  test.each([
    { what: "all of 100 have room for a chunk", counts: bursts([3000, 100]), is: true },
    { what: "99 are too few", counts: bursts([3000, 99]), is: false },
    {
      what: "two of 100 would be above by chance of 3 in 10",
      counts: bursts([3000, 98], [4300, 2]),
      is: false,
    },
    { what: "two of 200 likewise", counts: bursts([3000, 198], [4300, 2]), is: true },
    { what: "two of 200 are above as it is", counts: bursts([3000, 198], [6000, 2]), is: false },
    { what: "one of 200 is above", counts: bursts([3000, 199], [6000, 1]), is: true },
    { what: "two of 1,000 are far above", counts: bursts([3000, 998], [60_000, 2]), is: true },
    { what: "half of the time there is no room for any", counts: bursts([4500, 100]), is: false },
    { what: "nothing was seen", counts: undefined, is: false },
  ])("would hold 5 ms: $what: $is", ({ counts, is }) => {
    expect(wouldHold({ lasted: counts, waited: counts }, limits, added)).toBe(is);
    const waits = { lastedUs: Number.POSITIVE_INFINITY, waitedUs: 5000 };
    expect(wouldHold({ lasted: counts, waited: counts }, waits, added)).toBe(is);
  });

  test("is not told from bursts where nobody knows what it adds", () => {
    const few = { lasted: bursts([10, 1000]), waited: bursts([10, 1000]) };
    expect(wouldHold(few, limits, Number.POSITIVE_INFINITY)).toBe(false);
    const nothing = { lastedUs: Number.POSITIVE_INFINITY, waitedUs: Number.POSITIVE_INFINITY };
    expect(wouldHold(few, nothing, Number.POSITIVE_INFINITY)).toBe(false);
  });

  test("holds where both limits do", () => {
    const both = { lastedUs: 9000, waitedUs: 2000 };
    const lasted = bursts([6000, 100]);
    expect(wouldHold({ lasted, waited: bursts([900, 100]) }, both, added)).toBe(true);
    expect(wouldHold({ lasted, waited: bursts([1900, 100]) }, both, added)).toBe(false);
    const long = bursts([8900, 100]);
    expect(wouldHold({ lasted: long, waited: bursts([900, 100]) }, both, added)).toBe(false);
  });
});

test("bursts hold clearly that take no more than a fourth of what they may, whole and of waits", () => {
  const limits = { lastedUs: 20_000, waitedUs: 800 };
  const clear = (lastedUs: number, waitedUs: number, count = 100) =>
    holdClearly(
      { lasted: bursts([lastedUs, count]), waited: bursts([waitedUs, count]) },
      limits,
      false,
    );
  expect(clear(4900, 190)).toBe(true);
  expect(clear(4900, 190, 99)).toBe(false);
  expect(clear(4900, 210)).toBe(false);
  expect(clear(5100, 190)).toBe(false);
});

test("of long bursts fewer are enough, where few may tell", () => {
  const limits = { lastedUs: Number.POSITIVE_INFINITY, waitedUs: 800 };
  const clear = (lastedUs: number, count: number, few: boolean) =>
    holdClearly({ lasted: bursts([lastedUs, count]), waited: bursts([190, count]) }, limits, few);
  expect(clear(500_000, 21, true)).toBe(true);
  expect(clear(500_000, 21, false)).toBe(false);
  expect(clear(500_000, 19, true)).toBe(false);
  expect(clear(5_000_000, 9, true)).toBe(false);
  expect(clear(5_000_000, 10, true)).toBe(true);
  expect(clear(5000, 99, true)).toBe(false);
});

describe("a slowdown of 10 % of a request of 4 ms", () => {
  const limits = { lastedUs: 4400, waitedUs: Number.POSITIVE_INFINITY };
  const all = { whenActive: whenActive.allow };
  const fourth = { chunkUs: us(100), coRunEveryUs: us(400) };
  test.each([
    { what: "turns", more: {}, isolated: true, gpuShare: 1, is: false },
    {
      what: "not held, of which nothing is known",
      more: all,
      isolated: true,
      gpuShare: undefined,
      is: true,
    },
    {
      what: "not held, a third of it in kernels",
      more: all,
      isolated: true,
      gpuShare: 0.33,
      is: true,
    },
    {
      what: "not held, a twentieth in kernels",
      more: all,
      isolated: true,
      gpuShare: 0.05,
      is: false,
    },
    {
      what: "MPS, not held, all of it in kernels",
      more: all,
      isolated: false,
      gpuShare: 1,
      is: true,
    },
    {
      what: "MPS, not held, a third in kernels",
      more: all,
      isolated: false,
      gpuShare: 0.33,
      is: false,
    },
    {
      what: "MPS, not held, three fourths in kernels",
      more: all,
      isolated: false,
      gpuShare: 0.75,
      is: true,
    },
    { what: "MPS, nothing known", more: all, isolated: false, gpuShare: undefined, is: false },
    {
      what: "MPS, a fourth beside one that leaves no gaps",
      more: fourth,
      isolated: false,
      gpuShare: 1,
      is: true,
    },
    {
      what: "MPS, a fourth beside one with a fifth of gaps",
      more: fourth,
      isolated: false,
      gpuShare: 0.8,
      is: false,
    },
  ])("$what: hopeless $is", ({ more, isolated, gpuShare, is }) => {
    const seen = { name: "high", burstP50Us: 4000, gpuShare };
    expect(isHopeless(seen, rules(more, isolated), limits)).toBe(is);
  });

  test("leaves nothing to say before a burst was seen", () => {
    expect(isHopeless({ name: "high", burstP50Us: undefined }, rules(all), limits)).toBe(false);
  });

  test("is of the part of its launches that best-effort work gets", () => {
    const seen = {
      name: "high",
      burstP50Us: 4000,
      usualBurst: { launches: 400, us: 4000 },
      gpuShare: 0.4,
    };
    const until = (graceLaunches: number) =>
      isHopeless(seen, rules({ graceUs: us(10_000_000), graceLaunches }), limits);
    expect(until(240)).toBe(false);
    expect(until(400)).toBe(true);
    expect(until(0)).toBe(true);
  });

  test("is none of a level that gives nothing beside a request, however long that is", () => {
    const long = { name: "high", burstP50Us: 9000 };
    expect(isHopeless(long, rules(), limits)).toBe(false);
    expect(isHopeless(long, rules({}, false), limits)).toBe(false);
  });

  test("is not passed by what just reaches it", () => {
    const seen = { name: "high", burstP50Us: 4000, gpuShare: 1 };
    const most = (lastedUs: number, waitedUs: number) =>
      isHopeless(seen, rules(all), { lastedUs, waitedUs });
    expect(most(8000, 4000)).toBe(false);
    expect(most(7999, 4000)).toBe(true);
    expect(most(8000, 3999)).toBe(true);
  });

  test("is passed by what the median burst would wait, though whole it has room", () => {
    const seen = { name: "high", burstP50Us: 4000, gpuShare: 0.3 };
    const roomy = (waitedUs: number) => isHopeless(seen, rules(all), { lastedUs: 9000, waitedUs });
    expect(roomy(1100)).toBe(true);
    expect(roomy(1300)).toBe(false);
  });
});
