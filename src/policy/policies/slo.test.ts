// The policy against a made-up plant (test/policy/plant.ts): an hour of it takes less than a second.
import { describe, expect, test } from "vitest";
import { whenActive } from "#protocol";
import {
  falls,
  type Moment,
  type Plant,
  played,
  rulesAt,
  shareAbove,
} from "../../../test/policy/plant.ts";
import { strict } from "../parameters/strict.ts";

const HOUR = 3600;

/** The largest delay that co-location adds to a burst at each level. */
const addedUs = [100, 300, 400, 1000, 2000, 8000];

/** 2 ms and a heavy tail: 6 % take twice as long. Alone, the p99 is 4.2 ms. */
const heavyTailed: Plant["burstUs"] = (level, _, random) => {
  const solo = 2000 * (0.95 + 0.1 * random());
  return solo * (random() < 0.06 ? 2 : 1) + (addedUs[level] ?? 0) * random();
};

const service = (objective: Plant["objective"], perS = 60): Plant => ({
  objective,
  perS: () => perS,
  burstUs: heavyTailed,
});

const from = (seconds: number, moments: readonly Moment[]) =>
  moments.filter((moment) => moment.seconds >= seconds);

/** The level at which it spent more time than at any other. */
function usualLevel(moments: readonly Moment[]): number {
  const times = [0, 0, 0, 0, 0, 0];
  for (const { level } of moments) times[level] = (times[level] ?? 0) + 1;
  return times.indexOf(Math.max(...times));
}

const timeAt = (level: number, moments: readonly Moment[]) =>
  moments.filter((moment) => moment.level === level).length / moments.length;

describe("an objective that some level just holds", () => {
  test.each([
    { objective: { p99Us: 20_000 }, limitUs: 20_000, perS: 60, level: 5 },
    { objective: { p99Us: 5000 }, limitUs: 5000, perS: 60, level: 3 },
    { objective: { p99Us: 4500 }, limitUs: 4500, perS: 60, level: 2 },
    { objective: { p99Us: 5000 }, limitUs: 5000, perS: 20, level: 3 },
    { objective: { p99Us: 5000 }, limitUs: 5000, perS: 300, level: 3 },
    { objective: { slowdown: 0.2 }, limitUs: 5000, perS: 60, level: 3 },
    { objective: { slowdown: 1 }, limitUs: 8360, perS: 60, level: 4 },
    { objective: { p99Us: 5000, slowdown: 1 }, limitUs: 5000, perS: 60, level: 3 },
  ])(
    "$objective at $perS bursts/s: the highest such level, and few falls",
    ({ objective, limitUs, perS, level }) => {
      const moments = played([service(objective, perS)], HOUR, limitUs);
      const late = from(HOUR / 6, moments);
      expect(usualLevel(late)).toBe(level);
      expect(timeAt(level, late)).toBeGreaterThan(0.85);
      expect(shareAbove(late)).toBeLessThan(0.0105);
      expect(falls(moments)).toBeLessThan(12);
      expect(late.at(-1)?.state).toBe("met");
    },
  );

  test("an hour of trying what is too much costs a quarter of what is allowed", () => {
    // Nothing is above at levels 0 to 4; all of the heavy tail is at level 5.
    const burstUs: Plant["burstUs"] = (level, _, random) =>
      level === 5 && random() < 0.06 ? 9000 : 2000;
    const moments = played([{ ...service({ p99Us: 5000 }), burstUs }], HOUR, 5000);
    expect(shareAbove(moments)).toBeLessThan(0.0025);
    expect(timeAt(4, from(60, moments))).toBeGreaterThan(0.95);
  });
});

describe("the way up", () => {
  const reached = (level: number, p99Us: number, perS: number, within = 600) =>
    played([service({ p99Us }, perS)], within, p99Us).find((moment) => moment.level === level)
      ?.seconds ?? Number.NaN;

  test("to where bursts take 5 ms of 20 is one step of a hundred bursts, and to no gate as many as tell 1 %", () => {
    expect(reached(4, 20_000, 60)).toBeLessThan(3);
    expect(reached(4, 20_000, 5)).toBeLessThan(30);
    expect(reached(5, 20_000, 60)).toBeGreaterThan(5);
    expect(reached(5, 20_000, 60)).toBeLessThan(12);
    expect(reached(5, 20_000, 5)).toBeGreaterThan(60);
  });

  test("to a level whose chunks might break it takes as many bursts as it takes to tell 1 %", () => {
    // 4.2 ms alone and up to 0.3 more of 4.5: what level 2's chunks add may be too much.
    expect(reached(2, 4500, 60)).toBeGreaterThan(5);
    expect(reached(2, 4500, 5)).toBeGreaterThan(60);
  });

  test("is not taken on the bursts of a moment, however many", () => {
    expect(reached(4, 20_000, 2000, 5)).toBeGreaterThanOrEqual(2);
  });

  test("ends below what can't hold: half of the GPU for the others, when a median burst has no room for it", () => {
    const moments = played([service({ p99Us: 3900 }, 300)], 600, 3900);
    const never = played([{ ...service({ p99Us: 3900 }), burstUs: () => 2000 }], 600, 3900);
    expect(new Set([...moments, ...never].map(({ level }) => level)).has(5)).toBe(false);
    expect(never.at(-1)?.level).toBe(4);
  });
});

describe("an objective that nothing can meet", () => {
  const moments = played([service({ p99Us: 4000 })], HOUR, 4000);

  test("gets full protection", () => {
    expect(timeAt(0, moments)).toBe(1);
  });

  test("is called impossible once it was seen alone, which is tried once", () => {
    expect(moments.find(({ state }) => state === "impossible")?.seconds).toBeLessThan(60);
    expect(new Set(from(60, moments).map(({ state }) => state))).toEqual(new Set(["impossible"]));
    expect(moments.filter(({ paused }) => paused).length / 4).toBeLessThan(10);
  });

  test("is called missed when only co-location breaks it", () => {
    const burstUs: Plant["burstUs"] = (level) => (level < 0 ? 2000 : 6000);
    const plant = { ...service({ p99Us: 5000 }), burstUs };
    const { state, level } = played([plant], 600, 5000).at(-1) ?? {};
    expect({ state, level }).toEqual({ state: "missed", level: 0 });
  });

  test("is climbed from once it can be met", () => {
    const burstUs: Plant["burstUs"] = (_, seconds) => (seconds < 300 ? 6000 : 2000);
    const plant = { ...service({ p99Us: 5000 }), burstUs };
    const { state, level } = played([plant], 600, 5000).at(-1) ?? {};
    expect({ state, level }).toEqual({ state: "met", level: 5 });
  });
});

describe("a step of load", () => {
  // Under the higher load every level above `strict` breaks the objective for a third of the bursts.
  const step = (lower: number, higher: number): Plant => ({
    objective: { p99Us: 20_000 },
    perS: (seconds) => (seconds < 120 ? lower : higher),
    burstUs: (level, seconds, random) =>
      seconds >= 120 && level > 0 && random() < 0.33 ? 30_000 : 10_000,
  });

  test.each([
    { lower: 10, higher: 60 },
    { lower: 60, higher: 60 },
    { lower: 60, higher: 95 },
  ])("from $lower to $higher bursts/s is answered within a second", ({ lower, higher }) => {
    for (let seed = 1; seed <= 5; seed++) {
      const moments = played([step(lower, higher)], 150, 20_000, seed);
      const answered = moments.find(({ seconds, level }) => seconds >= 120 && level === 0);
      expect(answered?.seconds).toBeLessThanOrEqual(121.25);
      expect(shareAbove(from(122, moments))).toBeLessThan(0.02);
    }
  });

  test("that breaks nothing is climbed from again", () => {
    const plant = { ...service({ p99Us: 20_000 }), perS: (s: number) => (s < 100 ? 20 : 120) };
    const moments = played([plant], 200, 20_000);
    const after = moments.filter(({ seconds }) => seconds >= 100 && seconds <= 102);
    expect(after.some(({ level }) => level === 0)).toBe(true);
    expect(moments.at(-1)?.level).toBe(5);
  });

  test("down keeps the level, and a level that did not hold is soon tried again", () => {
    const plant: Plant = {
      objective: { p99Us: 20_000 },
      perS: (seconds) => (seconds < 1000 ? 60 : 20),
      burstUs: (level, seconds, random) =>
        level > 3 && seconds < 1000 && random() < 0.1 ? 30_000 : 10_000,
    };
    const moments = played([plant], 1200, 20_000);
    expect(moments.find(({ seconds }) => seconds === 1003)?.level).toBe(3);
    expect(moments.at(-1)?.level).toBe(5);
  });
});

describe("what bursts are like alone", () => {
  test("is seen first, with best-effort work paused for no more than ten seconds", () => {
    const moments = played([service({ slowdown: 0.2 })], 60, 5000);
    const paused = moments.filter((moment) => moment.paused);
    expect(paused.length / 4).toBeLessThan(6);
    expect(paused.at(-1)?.seconds).toBeLessThan(8);
    const unknown = moments.slice(0, moments.findLastIndex((moment) => moment.paused) + 8);
    expect(unknown.length).toBeGreaterThan(16);
    expect(unknown.every(({ level }) => level === 0)).toBe(true);

    const slow = played([service({ slowdown: 0.2 }, 3)], 60, 5000);
    expect(slow.filter((moment) => moment.paused).length / 4).toBeLessThanOrEqual(10.25);
  });

  test("needs no pause where best-effort work comes later", () => {
    const plant = { ...service({ slowdown: 0.2 }), colocated: (seconds: number) => seconds > 30 };
    const moments = played([plant], 300, 5000);
    expect(moments.some(({ paused }) => paused)).toBe(false);
    expect(usualLevel(from(100, moments))).toBe(3);
  });

  test("is not replaced by what another client's pause showed of it", () => {
    const known = { ...service({ slowdown: 0.2 }), colocated: (seconds: number) => seconds > 60 };
    const other = { ...service({ slowdown: 0.2 }, 3), perS: (s: number) => (s < 100 ? 0 : 3) };
    const moments = played([known, other], HOUR / 2, 5000);
    expect(shareAbove(from(200, moments))).toBeLessThan(0.01);
    expect(moments.some(({ paused }) => paused)).toBe(true);
  });

  test("is not asked while the client is idle", () => {
    const plant = { ...service({ slowdown: 0.2 }), perS: (s: number) => (s < 100 ? 0 : 60) };
    const moments = played([plant], 200, 5000);
    expect(moments.findIndex(({ paused }) => paused)).toBeGreaterThan(400);
  });

  test("is asked again when the load is another one, at most every ten minutes", () => {
    const plant: Plant = {
      ...service({ slowdown: 0.2 }),
      perS: (seconds) => (Math.floor(seconds / 60) % 2 ? 120 : 30),
    };
    const moments = played([plant], HOUR, 5000);
    const begins = moments.filter(({ paused }, i) => paused && !moments[i - 1]?.paused);
    expect(begins.length).toBeGreaterThan(1);
    expect(begins.length).toBeLessThanOrEqual(6);
    expect(moments.filter(({ paused }) => paused).length / moments.length).toBeLessThan(0.01);
  });
});

describe("several high clients", () => {
  test("the tightest objective binds", () => {
    const both = [service({ p99Us: 20_000 }), service({ p99Us: 5000 })];
    expect(usualLevel(from(600, played(both, HOUR, 20_000)))).toBe(3);
  });

  test("one without an objective is protected as under strict, and so are all", () => {
    const both = [service({ p99Us: 20_000 }), service(undefined)];
    expect(timeAt(0, played(both, 600, 20_000))).toBe(1);
  });

  test("one that is idle holds nobody back, and is protected when it wakes", () => {
    const idle = { ...service({ p99Us: 5000 }), perS: (s: number) => (s < 300 ? 0 : 60) };
    const moments = played([service({ p99Us: 20_000 }), idle], 600, 20_000);
    expect(moments.find(({ seconds }) => seconds === 299)?.level).toBe(5);
    expect(moments.find(({ seconds }) => seconds === 301)?.level).toBe(0);
  });

  test("nobody to protect is nothing to decide", () => {
    expect(timeAt(0, played([], 10, 1))).toBe(1);
  });
});

test("bursts alone prove nothing for a level", () => {
  const plant = { ...service({ p99Us: 20_000 }), colocated: () => false };
  expect(timeAt(0, played([plant], 600, 20_000))).toBe(1);
});

test("a neighbour that comes back after a minute may be another job, after less it is the same", () => {
  const away = (seconds: number) => {
    const colocated = (at: number) => at < 100 || at > 100 + seconds;
    const moments = played([{ ...service({ p99Us: 20_000 }), colocated }], 250, 20_000);
    return from(100, moments).some(({ level }) => level === 0);
  };
  expect(away(70)).toBe(true);
  expect(away(50)).toBe(false);
});

describe("the rules", () => {
  const memory = (level: number, pausedUntilMs?: number) => ({
    nowMs: 0,
    level,
    held: 0,
    settling: false,
    sinceMs: 0,
    colocatedAtMs: 0,
    beside: [],
    pausedUntilMs,
    bans: [],
    clients: new Map(),
  });

  test("of level 0 are those of strict", () => {
    expect(rulesAt(undefined)).toEqual(strict.rules({ isolated: true, high: [] }));
    expect(rulesAt(memory(0))).toEqual(rulesAt(undefined));
  });

  test("never get smaller on the way up, and never give up the gate", () => {
    const levels = [0, 1, 2, 3, 4, 5].map((level) => rulesAt(memory(level)));
    const chunks = levels.map(({ chunkUs }) => chunkUs);
    expect(chunks).toEqual([200, 400, 400, 800, 1600, 2000]);
    expect(levels.map(({ resumeDelayUs }) => resumeDelayUs)).toEqual([150, 150, 0, 0, 0, 0]);
    expect(levels.every(({ protect, progressAfterUs }) => protect && progressAfterUs)).toBe(true);
    expect(levels.at(-1)?.whenActive).toBe(whenActive.allow);
  });

  test("of a pause still let minimum progress through", () => {
    expect(rulesAt(memory(0, 1000))).toMatchObject({ paused: 1, progressAfterUs: 1_000_000 });
  });
});
