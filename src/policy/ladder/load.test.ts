import { describe, expect, test } from "vitest";
import { mulberry32 } from "#core";
import { differ, isQuiet, type Load, noLoad, withLoad, withoutAmounts } from "./load.ts";

/** The load after `seconds` of bursts at a constant rate and length (us), at four samples a second. */
function loadAfter(
  was: Load,
  seconds: number,
  perS: number,
  burstUs: number,
  colocated = true,
): Load {
  let load = was;
  for (let look = 0; look < seconds * 4; look++) {
    const bursts = perS / 4;
    load = withLoad(load, { bursts, waitedUs: bursts * burstUs, seconds: 0.25 }, colocated);
    if (look > 0 && load.change) return load;
  }
  return load;
}

const usual = () => loadAfter(noLoad, 20, 60, 4000);

describe("the load", () => {
  test.each([
    { what: "as ever", perS: 60, burstUs: 4000, change: undefined },
    { what: "a little more", perS: 76, burstUs: 4000, change: undefined },
    { what: "half as much again, as may be by chance", perS: 94, burstUs: 1000, change: undefined },
    { what: "so much more as hardly is by chance", perS: 98, burstUs: 1000, change: "rose" },
    { what: "twice as much", perS: 120, burstUs: 4000, change: "rose" },
    { what: "half of it, as may be by chance", perS: 30, burstUs: 4000, change: undefined },
    { what: "so much less as hardly is by chance", perS: 28, burstUs: 4000, change: "fell" },
    { what: "a sixth", perS: 12, burstUs: 4000, change: "fell" },
    { what: "longer bursts, as may be by chance", perS: 60, burstUs: 6400, change: undefined },
    { what: "longer bursts than hardly are by chance", perS: 60, burstUs: 7200, change: "rose" },
    { what: "longer bursts", perS: 60, burstUs: 9000, change: "rose" },
    { what: "shorter bursts", perS: 60, burstUs: 1000, change: undefined },
  ])("$what: $change", ({ perS, burstUs, change }) => {
    expect(loadAfter(usual(), 1, perS, burstUs).change).toBe(change);
  });

  test.each([
    { what: "bursts by two fifths", perS: 1400, burstUs: 100, change: undefined },
    { what: "bursts by three fifths", perS: 1600, burstUs: 100, change: "rose" },
    { what: "bursts by less than a third down", perS: 700, burstUs: 100, change: undefined },
    { what: "bursts by more than a third down", perS: 640, burstUs: 100, change: "fell" },
    { what: "waits by less than half", perS: 1000, burstUs: 580, change: undefined, was: 400 },
    { what: "waits by more than half", perS: 1000, burstUs: 630, change: "rose", was: 400 },
    { what: "waits by less than 10 % of a GPU", perS: 1000, burstUs: 185, change: undefined },
    { what: "waits by more than 10 % of a GPU", perS: 1000, burstUs: 215, change: "rose" },
  ])("however sure, changes with a factor that matters: $what: $change", (one) => {
    const { perS, burstUs, change, was = 100 } = one;
    expect(loadAfter(loadAfter(noLoad, 20, 1000, was), 1, perS, burstUs).change).toBe(change);
  });

  test("is known after three seconds, and before that nothing is a change of it", () => {
    const doubledAfter = (seconds: number) => {
      const load = loadAfter(noLoad, seconds, 60, 1000);
      return withLoad(load, { bursts: 200, waitedUs: 2e5, seconds: 0.25 }, true).change;
    };
    // The last second is not what is usual yet.
    expect(doubledAfter(3.5)).toBeUndefined();
    expect(doubledAfter(4)).toBe("rose");
  });

  test("of long ago is half forgotten after a minute, and the rate stays what it was", () => {
    const { seconds, bursts, waitedUs } = loadAfter(noLoad, 300, 60, 4000).usual;
    expect(seconds).toBeGreaterThan(29);
    expect(seconds).toBeLessThanOrEqual(60.25);
    expect(bursts / seconds).toBeCloseTo(60);
    expect(waitedUs / seconds).toBeCloseTo(60 * 4000);
  });

  test("from 10 to 60 bursts a second is seen within three quarters of a second", () => {
    expect(loadAfter(loadAfter(noLoad, 20, 12, 10_000), 0.75, 60, 10_000).change).toBe("rose");
  });

  test("alone tells nothing: a burst is shorter then", () => {
    expect(loadAfter(usual(), 10, 120, 1000, false).change).toBeUndefined();
  });

  test("of a client that was silent rises with its first burst", () => {
    const silent = loadAfter(usual(), 60.25, 0, 0, false);
    expect(isQuiet(loadAfter(usual(), 60, 0, 0, false))).toBe(false);
    expect(isQuiet(silent)).toBe(true);
    expect(withLoad(silent, { bursts: 1, waitedUs: 1, seconds: 0.25 }, false).change).toBe("rose");
    expect(withLoad(silent, { bursts: 1, waitedUs: 1, seconds: 0.25 }, true).change).toBe("rose");
    expect(withLoad(silent, { bursts: 0, waitedUs: 0, seconds: 0.25 }, false).lastBurst).toBe(60.5);
  });
});

/** The load after `seconds` of random requests, two every three seconds, each of 30 bursts in half a second. */
function clustered(was: Load, seconds: number, seed: number) {
  const random = mulberry32(seed);
  let [load, left, changes] = [was, 0, 0];
  for (let look = 0; look < seconds * 4; look++) {
    if (random() < 2 / 3 / 4) left += 30;
    const bursts = Math.min(15, left);
    left -= bursts;
    load = withLoad(load, { bursts, waitedUs: bursts * 500, seconds: 0.25 }, true);
    if (load.change) changes++;
    if (load.change) load = withoutAmounts(load);
  }
  return { load, changes };
}

describe("bursts that come many to a request", () => {
  const seeds = [1, 2, 3, 4, 5, 6, 7, 8];

  test("change the load at first, until it is known how they come", () => {
    const early = seeds.map((seed) => clustered(noLoad, 30, seed));
    const late = early.map(({ load }, i) => clustered(load, 600, i + 100).changes);
    expect(Math.max(...early.map(({ changes }) => changes))).toBeLessThanOrEqual(3);
    expect(late.reduce((sum, changes) => sum + changes)).toBeLessThanOrEqual(seeds.length);
  });

  test("that come alone from then on are forgotten to have come so", () => {
    const { load } = clustered(noLoad, 300, 1);
    expect(load.dispersion).toBeGreaterThan(10);
    const random = mulberry32(9);
    let alone = load;
    for (let look = 0; look < 1200; look++) {
      const bursts = random() < 0.5 ? 10 : 6;
      alone = withLoad(alone, { bursts, waitedUs: 500, seconds: 0.25 }, true);
    }
    expect(alone.dispersion).toBeLessThan(1.1);
  });

  test("do not hide that they become eight times as many", () => {
    const { load } = clustered(noLoad, 300, 1);
    expect(loadAfter(load, 1, 160, 500).change).toBe("rose");
  });
});

test("two short stretches differ only by more than chance", () => {
  expect(differ({ bursts: 10, seconds: 4 }, { bursts: 50, seconds: 10 })).toBe(false);
  expect(differ({ bursts: 40, seconds: 4 }, { bursts: 600, seconds: 10 })).toBe(true);
  // By half is no change, however sure.
  expect(differ({ bursts: 5800, seconds: 40 }, { bursts: 10_000, seconds: 100 })).toBe(false);
  expect(differ({ bursts: 6200, seconds: 40 }, { bursts: 10_000, seconds: 100 })).toBe(true);
  expect(differ({ bursts: 2600, seconds: 40 }, { bursts: 10_000, seconds: 100 })).toBe(true);
  // Four standard deviations of the difference of two counts: 4 times the root of 240 or so.
  expect(differ({ bursts: 116, seconds: 4 }, { bursts: 60, seconds: 4 })).toBe(false);
  expect(differ({ bursts: 124, seconds: 4 }, { bursts: 60, seconds: 4 })).toBe(true);
  // Thirty to a request are as sure as a thirtieth of them.
  expect(differ({ bursts: 124, seconds: 4 }, { bursts: 60, seconds: 4 }, 30)).toBe(false);
  expect(differ({ bursts: 3720, seconds: 4 }, { bursts: 1800, seconds: 4 }, 30)).toBe(true);
});

test("a stretch that is too short, or no stretch, says nothing of a difference", () => {
  expect(differ({ bursts: 900, seconds: 3 }, { bursts: 300, seconds: 3 })).toBe(true);
  expect(differ({ bursts: 900, seconds: 2.9 }, { bursts: 300, seconds: 3 })).toBe(false);
  expect(differ({ bursts: 900, seconds: 3 }, { bursts: 0, seconds: 0 })).toBe(false);
  expect(differ({ bursts: 600, seconds: 1 }, { bursts: 600, seconds: 10 })).toBe(false);
});
