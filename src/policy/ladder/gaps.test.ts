// Services without an objective, against the made-up plant: one that is limited by its CPU, and one that keeps the GPU
// busy.
import { describe, expect, test } from "vitest";
import { mulberry32 } from "#core";
import { type Moment, type Plant, played } from "../../../test/policy/plant.ts";
import { cotenant } from "../policies/cotenant.ts";
import { slo } from "../policies/slo.ts";
import { noWaits, withWaits } from "./gaps.ts";

const turns = { policy: cotenant, isolated: true };
/** Below it: half of a burst, nearly all of it, and until the program waits. */
const LAST = 4;

/** Bursts of 4 to 6 ms that wait for 50 us, and for `more` at each level. */
const launching = (more: (level: number, random: () => number) => number): Plant => ({
  objective: undefined,
  perS: () => 60,
  burstUs: (level, _, random) => {
    const waitedUs = 50 + (level < 0 ? 0 : more(level, random));
    return { lastedUs: 4000 + 2000 * random() + waitedUs, waitedUs };
  },
});

/** Requests that a program answers one after the other in `lastS` each: the part of a sample in which it answers one. */
function requestsAtRandom(perS: number, lastS: number, seed: number) {
  const random = mulberry32(seed);
  const looks = new Float64Array(4000);
  let [at, free] = [0, 0];
  while (at < looks.length / 4) {
    const from = Math.max(at, free);
    free = from + lastS;
    for (let look = Math.floor(4 * from); look < 4 * free && look < looks.length; look++) {
      const within = Math.min(free, (look + 1) / 4) - Math.max(from, look / 4);
      looks[look] = (looks[look] ?? 0) + 4 * within;
    }
    at -= Math.log(1 - random()) / perS;
  }
  return (seconds: number) => looks[Math.round(4 * seconds)] ?? 0;
}

const levelsFrom = (seconds: number, moments: readonly Moment[]) =>
  new Set(moments.filter((one) => one.seconds >= seconds).map(({ level }) => level));

describe("a service without an objective", () => {
  test("that waits for nobody gets the last level", () => {
    const moments = played([launching(() => 0)], 120, 600, 1, turns);
    expect(levelsFrom(60, moments)).toEqual(new Set([LAST]));
    expect(moments.at(-1)?.state).toBe("met");
  });

  test.each([1, 2, 3, 4])("whose tokens come many to a request gets it, too: seed %i", (seed) => {
    const serving = requestsAtRandom(0.6, 0.5, seed);
    const plant: Plant = { ...launching(() => 0), perS: (seconds) => 60 * serving(seconds) };
    const moments = played([plant], 240, 600, seed, turns);
    expect(levelsFrom(180, moments)).toEqual(new Set([LAST]));
  });

  describe("whose bursts take a third of a second", () => {
    /** `part` of a burst is added to its wait at each level. */
    const long = (part: (level: number) => number): Plant => ({
      objective: undefined,
      perS: () => 0.7,
      burstUs: (level, _, random) => {
        const ownUs = 300_000 + 100_000 * random();
        const waitedUs = 1000 + (level < 0 ? 0 : part(level) * ownUs);
        return { lastedUs: ownUs + waitedUs, waitedUs };
      },
    });

    test.each([1, 2, 3])("gets the last level within some hundred of them: seed %i", (seed) => {
      const moments = played([long(() => 0.002)], 600, 1e6, seed, turns);
      expect(levelsFrom(420, moments)).toEqual(new Set([LAST]));
    });

    test("leaves a level on which it falls behind after a few of them", () => {
      const behind = (level: number) => (level >= 3 ? 0.2 : 0.002);
      const moments = played([long(behind)], 3600, 1e6, 1, turns).filter(
        ({ seconds }) => seconds > 420,
      );
      const tried = moments.filter(({ level }) => level >= 3);
      expect(moments.filter(({ level }) => level === 2).length / moments.length).toBeGreaterThan(
        0.6,
      );
      expect(tried.length / moments.length).toBeLessThan(0.1);
      expect(tried.length).toBeGreaterThan(0);
    });
  });

  test("is protected as under strict by the policy slo", () => {
    const moments = played([launching(() => 0)], 120, 600, 1, { policy: slo, isolated: true });
    expect(levelsFrom(0, moments)).toEqual(new Set([0]));
  });

  test("that waits a tenth of its p99 longer for one burst in thirty leaves that level", () => {
    const seldom = (level: number, random: () => number) =>
      level >= 2 && random() < 1 / 30 ? 1000 : 0;
    const late = played([launching(seldom)], 600, 600, 1, turns).filter(
      ({ seconds }) => seconds > 60,
    );
    const at = (level: number) => late.filter((one) => one.level === level).length / late.length;
    expect(at(1)).toBeGreaterThan(0.9);
    expect(at(2) + at(3) + at(4)).toBeLessThan(0.1);
  });

  test("whose median burst waits 2 % of it longer leaves that level, although the p99 would allow it", () => {
    const median = (level: number) => (level >= 2 ? 200 : 0);
    const late = played([launching(median)], 600, 600, 1, turns).filter(
      ({ seconds }) => seconds > 60,
    );
    expect(late.filter(({ level }) => level === 1).length / late.length).toBeGreaterThan(0.9);
  });

  test("that keeps the GPU busy is protected as under strict", () => {
    const busy: Plant = {
      objective: undefined,
      perS: () => 60,
      burstUs: () => ({ lastedUs: 4000, waitedUs: 3800 }),
    };
    expect(levelsFrom(0, played([busy], 120, 9000, 1, turns))).toEqual(new Set([0]));
    expect(levelsFrom(0, played([launching(() => 0), busy], 120, 9000, 1, turns))).toEqual(
      new Set([0]),
    );
  });

  test("that keeps the GPU busy, but for a burst in which it compiles, is protected as under strict", () => {
    const compiling: Plant = {
      objective: undefined,
      perS: () => 20,
      burstUs: (_, seconds) =>
        seconds === 6 ? { lastedUs: 2e6, waitedUs: 100 } : { lastedUs: 4000, waitedUs: 3800 },
    };
    expect(levelsFrom(0, played([compiling], 120, 9000, 1, turns))).toEqual(new Set([0]));
  });

  test("whose waits are not known is protected as under strict", () => {
    const unknown: Plant = { objective: undefined, perS: () => 60, burstUs: () => 4000 };
    expect(levelsFrom(0, played([unknown], 120, 9000, 1, turns))).toEqual(new Set([0]));
  });

  test("that begins to keep the GPU busy is protected as under strict from then on", () => {
    const plant: Plant = {
      objective: undefined,
      perS: () => 60,
      burstUs: (_, seconds) =>
        seconds < 60 ? { lastedUs: 5000, waitedUs: 50 } : { lastedUs: 5000, waitedUs: 4000 },
    };
    const moments = played([plant], 120, 9000, 1, turns);
    expect(moments.filter(({ seconds }) => seconds < 60).at(-1)?.level).toBe(LAST);
    expect(levelsFrom(62, moments)).toEqual(new Set([0]));
  });
});

test("a service leaves gaps if it waits less than a quarter of its bursts, and no longer above two fifths", () => {
  const part = (waitedUs: number) => ({ bursts: 100, lastedUs: 1000, waitedUs });
  const first = withWaits(noWaits, part(100));
  expect(first.gaps).toBe(false);
  const known = withWaits(first, part(100));
  expect(known.gaps).toBe(true);
  expect(withWaits(withWaits(noWaits, part(300)), part(300)).gaps).toBe(false);
  expect(withWaits(known, part(600)).gaps).toBe(true);
  expect(withWaits(withWaits(known, part(600)), part(900)).gaps).toBe(false);
  expect(withWaits(known, { bursts: 0, lastedUs: 0, waitedUs: 0 })).toBe(known);
});
