// A service that launches kernel by kernel, against the made-up plant: what it does on its CPU drifts by a quarter and has
// a heavy tail, and it waits for the GPU for a thousandth of that. Its figures are those of ResNet50 eager on an H200, alone and
// beside three trainings that nothing held back (docs/design/decisions/0003).
import { describe, expect, test } from "vitest";
import type { Random } from "#core";
import {
  type Burst,
  falls,
  type Moment,
  type Plant,
  played,
  shareAbove,
} from "../../../test/policy/plant.ts";
import type { Objective } from "../contract/policy.ts";
import { cotenant } from "./cotenant.ts";

const mps = { policy: cotenant, isolated: false };
const LAST = 4;
const ANY = Number.POSITIVE_INFINITY;

/** A distribution by its quantiles, in us. */
type Quantiles = readonly (readonly [part: number, us: number])[];

function drawn(quantiles: Quantiles, random: Random): number {
  const at = random();
  const above = quantiles.findIndex(([part]) => part >= at);
  const [to, upper] = quantiles[above] ?? [1, 0];
  const [from, lower] = quantiles[above - 1] ?? [0, upper / 2];
  return lower + ((upper - lower) * (at - from)) / (to - from);
}

const ownUs: Quantiles = [
  [0, 3400],
  [0.1, 3640],
  [0.5, 5080],
  [0.9, 6960],
  [0.95, 7600],
  [0.99, 8410],
  [1, 12_000],
];
const waitedUs = (
  ...[p10, p50, p90, p95, p99]: readonly [number, number, number, number, number]
): Quantiles => [
  [0.1, p10],
  [0.5, p50],
  [0.9, p90],
  [0.95, p95],
  [0.99, p99],
  [1, 1.1 * p99],
];
const waitsAlone = waitedUs(11, 15, 19, 21, 35);
const besideResnet50 = waitedUs(13, 17, 68, 193, 634);
const besideBert = waitedUs(770, 2850, 4400, 4900, 5400);
const besideGpt2 = waitedUs(14, 30, 1580, 3280, 5780);

/** The CPU drifts by `part` up and down, in twenty seconds and in seven. */
const drift = (part: number, seconds: number): number =>
  1 + (part / 2) * (Math.sin(seconds / 3.2) + Math.sin(seconds / 1.1));

interface Service {
  readonly objective: Partial<Objective>;
  readonly perS?: Plant["perS"];
  readonly drifts?: number;
  /** On the last level; on each below it half as much, and nothing where best-effort work takes turns. */
  readonly waits: (seconds: number) => Quantiles;
}

const BESIDE_FROM = 1;

function service({ objective, perS = () => 63, drifts = 0.25, waits }: Service): Plant {
  const burstUs = (level: number, seconds: number, random: Random): Burst => {
    const beside = level >= BESIDE_FROM ? 2 ** (level - LAST) * drawn(waits(seconds), random) : 0;
    const wait = Math.max(drawn(waitsAlone, random), beside);
    return { lastedUs: wait + drift(drifts, seconds) * drawn(ownUs, random), waitedUs: wait };
  };
  return { objective, perS, burstUs };
}

const from = (seconds: number, moments: readonly Moment[]) =>
  moments.filter((moment) => moment.seconds >= seconds);
const timeAt = (level: number, moments: readonly Moment[]) =>
  moments.filter((moment) => moment.level === level).length / moments.length;
const firstAt = (level: number, moments: readonly Moment[]) =>
  moments.find((moment) => moment.level === level)?.seconds ?? Number.NaN;

const tenth = { slowdown: 0.1 };
const seeds = [1, 2, 3, 4, 5];

describe("a slowdown of a service that is bound by launching", () => {
  test.each(seeds)(
    "that nobody makes wait climbs to the last level within 24 s, and stays: seed %i",
    (seed) => {
      const moments = played(
        [service({ objective: tenth, waits: () => besideResnet50 })],
        600,
        876,
        seed,
        mps,
      );
      expect(firstAt(LAST, moments)).toBeLessThan(24);
      expect(timeAt(LAST, from(24, moments))).toBe(1);
      expect(moments.at(-1)?.state).toBe("met");
    },
  );

  test.each([
    { beside: "BERT", waits: besideBert, level: 1 },
    { beside: "GPT-2", waits: besideGpt2, level: 1 },
  ])("beside $beside ends on the highest level that holds", ({ waits, level }) => {
    const moments = played([service({ objective: tenth, waits: () => waits })], 3600, 876, 1, mps);
    const late = from(600, moments);
    expect(timeAt(level, late)).toBeGreaterThan(0.9);
    expect(shareAbove(late)).toBeLessThan(0.01);
    expect(falls(late)).toBeLessThan(8);
  });

  test.each(seeds)(
    "is answered within a second when others begin to make it wait: seed %i",
    (seed) => {
      const waits = (seconds: number) => (seconds < 120 ? besideResnet50 : besideBert);
      const moments = played([service({ objective: tenth, waits })], 180, 876, seed, mps);
      const at = moments.find(({ seconds, level }) => seconds >= 120 && level === 0)?.seconds;
      expect(at).toBeLessThanOrEqual(121);
    },
  );

  test("is not taken for a step of load when the CPU drifts, however many bursts say so", () => {
    const drifting = {
      objective: tenth,
      perS: () => 150,
      drifts: 0.4,
      waits: () => besideResnet50,
    };
    const moments = played([service(drifting)], 600, 876, 1, mps);
    expect(falls(moments)).toBe(0);
    expect(timeAt(LAST, from(24, moments))).toBe(1);
  });

  test("is protected anew when the rate of requests steps up", () => {
    const perS = (seconds: number) => (seconds < 100 ? 20 : 120);
    const moments = played(
      [service({ objective: tenth, perS, waits: () => besideResnet50 })],
      150,
      876,
      1,
      mps,
    );
    expect(from(100, moments).find(({ level }) => level === 0)?.seconds).toBeLessThanOrEqual(101);
    expect(moments.at(-1)?.level).toBe(LAST);
  });
});

describe("a time and a slowdown together", () => {
  const ends = (objective: Partial<Objective>, waits: Quantiles) =>
    played([service({ objective, drifts: 0.1, waits: () => waits })], 300, ANY, 1, mps).at(-1);

  test("must both hold: the slowdown alone allows what the time does not, and the other way round", () => {
    expect(ends({ slowdown: 1, p99Us: 40_000 }, besideBert)).toMatchObject({
      level: LAST,
      state: "met",
    });
    expect(ends({ slowdown: 0.1, p99Us: 40_000 }, besideBert)?.level).toBe(1);
    expect(ends({ slowdown: 1, p99Us: 8000 }, besideBert)).toMatchObject({
      level: 0,
      state: "impossible",
    });
  });

  test("a time alone is about bursts whole, whatever takes it", () => {
    expect(ends({ p99Us: 40_000 }, besideBert)?.level).toBe(LAST);
    expect(ends({ p99Us: 8000 }, waitsAlone)).toMatchObject({ level: 0, state: "impossible" });
  });
});
