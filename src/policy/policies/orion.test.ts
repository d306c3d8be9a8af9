// The parameter table of Orion, and its search for a threshold; what they do is tested on the modelled GPU.

import fc from "fast-check";
import { expect, test } from "vitest";
import { millis } from "#core";
import { submission, whenActive } from "#protocol";
import type { Memory, MeteredHigh, Observed, SeenHigh } from "../contract/policy.ts";
import { policyNamed } from "./index.ts";
import { search } from "./threshold.ts";

const high = (more: Partial<SeenHigh> = {}): SeenHigh => ({
  name: "high",
  burstP50Us: 4000,
  ...more,
});
const seen = (more: Partial<Observed> = {}): Observed => ({
  isolated: false,
  high: [high()],
  smCount: 80,
  ...more,
});

test("orion decides launch by launch, without delays", () => {
  expect(policyNamed("orion").rules(seen())).toMatchObject({
    protect: 1,
    submission: submission.launch,
    resumeDelayUs: 0,
  });
});

test("where contexts take turns orion lets nothing run concurrently with a request", () => {
  expect(policyNamed("orion").rules(seen({ isolated: true })).whenActive).toBe(whenActive.wait);
});

test("Orion's defaults: as many SMs as there are, 2.5 % of a request alone", () => {
  const { rules } = policyNamed("orion");
  expect(rules(seen())).toMatchObject({ smLimit: 80, budgetUs: 100, wantKernels: 1 });
  expect(rules(seen({ high: [high({ soloUs: 2000 })] })).budgetUs).toBe(50);
  expect(rules(seen({ high: [high({ soloUs: 8000 }), high()] })).budgetUs).toBe(100);
  expect(rules(seen({ high: [high({ burstP50Us: undefined })] })).budgetUs).toBe(50);
  expect(rules({ ...seen(), smCount: undefined }).smLimit).toBe(0);
});

/** How a training gets on under a threshold, at its `look`th look: 1 as it does alone. */
type Training = (limit: number, look: number) => number;

const slowedFrom =
  (harmfulFrom: number): Training =>
  (limit) =>
    limit > harmfulFrom ? 0.7 : 1;

/** The thresholds that are tried for it, look by look. */
function searched(
  training: Training,
  {
    colocated = () => true,
    everyMs = () => 250,
    id = () => "a",
  }: {
    readonly colocated?: (look: number) => boolean | undefined;
    readonly everyMs?: (look: number) => number;
    readonly id?: (look: number) => string;
  } = {},
) {
  let memory: ReturnType<typeof search> | undefined;
  const limits: number[] = [];
  for (let [look, nowMs] = [1, 250]; look <= 480; nowMs += everyMs(look), look++) {
    const launches = 20 * everyMs(look - 1) * training(memory?.smLimit ?? 80, look);
    const client: MeteredHigh = { ...trains, id: id(look), launches };
    memory = search(
      { ...seen(), high: [client], nowMs: millis(nowMs), colocated: colocated(look) },
      memory,
    );
    limits.push(memory.smLimit ?? Number.NaN);
  }
  return limits;
}

const trains: MeteredHigh = {
  name: "high",
  burstP50Us: 4000,
  id: "a",
  training: true,
  objective: undefined,
  ended: undefined,
};

test("SM_THRESHOLD is found by halving, from zero on", () => {
  expect(searched(slowedFrom(40))[0]).toBe(0);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 81 }), (harmfulFrom) => {
      expect(searched(slowedFrom(harmfulFrom)).at(-1)).toBe(Math.min(81, harmfulFrom));
    }),
    { numRuns: 20 },
  );
});

test("minimum progress now and then is enough co-location to go on with the search, none at all is not", () => {
  const ends = (colocated: (look: number) => boolean | undefined) =>
    searched(slowedFrom(40), { colocated }).at(-1);
  expect(ends((look) => look % 4 === 0)).toBe(40);
  expect(ends(() => false)).toBe(41);
  expect(ends(() => undefined)).toBe(41);
});

test("that the high job stands still for a while is not taken for a loss", () => {
  const idle = (look: number) => look % 60 < 30;
  const now = (training: Training) =>
    searched((limit, look) => (idle(look) ? 0 : training(limit, look)), {
      colocated: (look) => !idle(look),
    }).at(-1);
  expect(now(slowedFrom(40))).toBe(40);
  expect(now(slowedFrom(81))).toBe(81);
});

test("a threshold is judged by its whole trial of three seconds, in which launches come as they like", () => {
  const inLumps: Training = (limit, look) =>
    slowedFrom(40)(limit, look) * (look % 4 === 0 ? 3.4 : 0.2);
  expect(searched(inLumps).at(-1)).toBe(40);
});

test("a threshold is judged by launches in a time, however long its trial took", () => {
  expect(searched(slowedFrom(40), { everyMs: (look) => (look < 20 ? 250 : 2000) }).at(-1)).toBe(40);
});

test("the first two looks at a threshold, which still show the one before, are not held against it", () => {
  let [of, since] = [0, 0];
  const late: Training = (limit, look) => {
    if (limit !== of) [of, since] = [limit, look];
    return look - since < 2 ? 0.01 : 1;
  };
  expect(searched(late).at(-1)).toBe(81);
});

test("the threshold that was found stays, and is looked for anew for another high job", () => {
  const laterSlower: Training = (limit, look) => (look > 300 ? 0.3 : slowedFrom(40)(limit, look));
  expect(new Set(searched(laterSlower).slice(240))).toEqual(new Set([40]));
  const another = searched(slowedFrom(40), { id: (look) => (look > 300 ? "b" : "a") });
  expect(another[299]).toBe(40);
  expect(another[300]).toBe(0);
});

test.each([
  { what: "contexts take turns", more: { isolated: true } },
  { what: "nobody described the GPU", more: { smCount: undefined } },
  { what: "there is no high job", more: { high: [] } },
  { what: "the high job serves requests", more: { high: [{ ...trains, training: false }] } },
  {
    what: "one of two high jobs serves requests",
    more: { high: [trains, { ...trains, id: "b", training: false }] },
  },
])("it is not looked for where $what", ({ more }) => {
  const look = { ...seen(), high: [trains], nowMs: millis(0), colocated: true };
  expect(search(look).smLimit).toBe(0);
  expect(search({ ...look, ...more }).smLimit).toBeUndefined();
});

test("Orion has rules also for a high job that reports no launches", () => {
  const look = { ...seen(), high: [trains], nowMs: millis(0), colocated: true };
  const { remember, rules } = policyNamed("orion");
  let memory: Memory | undefined;
  for (let nowMs = 0; nowMs < 5000; nowMs += 250)
    memory = remember?.({ ...look, nowMs: millis(nowMs) }, memory);
  for (const value of Object.values(rules(look, memory))) expect(value).not.toBeNaN();
});
