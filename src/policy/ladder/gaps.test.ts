// Services without an objective, against the made-up plant: one that is limited by its CPU, and one that keeps the GPU
// busy.
import { describe, expect, test } from "vitest";
import { type Moment, type Plant, played } from "../../../test/policy/plant.ts";
import { cotenant } from "../policies/cotenant.ts";
import { slo } from "../policies/slo.ts";
import { noWaits, withWaits } from "./gaps.ts";

const turns = { policy: cotenant, isolated: true };
const LAST = 8;

/** Bursts of 4 to 6 ms that wait for 50 us, and for `more` at each level. */
const launching = (more: (level: number, random: () => number) => number): Plant => ({
  objective: undefined,
  perS: () => 60,
  burstUs: (level, _, random) => {
    const waitedUs = 50 + (level < 0 ? 0 : more(level, random));
    return { lastedUs: 4000 + 2000 * random() + waitedUs, waitedUs };
  },
});

const levelsFrom = (seconds: number, moments: readonly Moment[]) =>
  new Set(moments.filter((one) => one.seconds >= seconds).map(({ level }) => level));

describe("a service without an objective", () => {
  test("that waits for nobody gets the last level", () => {
    const moments = played([launching(() => 0)], 120, 600, 1, turns);
    expect(levelsFrom(60, moments)).toEqual(new Set([LAST]));
    expect(moments.at(-1)?.state).toBe("met");
  });

  test("is protected as under strict by the policy slo", () => {
    const moments = played([launching(() => 0)], 120, 600, 1, { policy: slo, isolated: true });
    expect(levelsFrom(0, moments)).toEqual(new Set([0]));
  });

  test("that waits a tenth of its p99 longer for one burst in thirty leaves that level", () => {
    const seldom = (level: number, random: () => number) =>
      level >= 6 && random() < 1 / 30 ? 1000 : 0;
    const late = played([launching(seldom)], 600, 600, 1, turns).filter(
      ({ seconds }) => seconds > 60,
    );
    const at = (level: number) => late.filter((one) => one.level === level).length / late.length;
    expect(at(5)).toBeGreaterThan(0.9);
    expect(at(6) + at(7) + at(8)).toBeLessThan(0.1);
  });

  test("whose median burst waits 2 % of its p99 longer leaves that level, although the p99 would allow it", () => {
    const median = (level: number) => (level >= 6 ? 200 : 0);
    const late = played([launching(median)], 600, 600, 1, turns).filter(
      ({ seconds }) => seconds > 60,
    );
    expect(late.filter(({ level }) => level === 5).length / late.length).toBeGreaterThan(0.9);
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
