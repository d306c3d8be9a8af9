// The rule tables of the systems that Cotenant is compared with; what they do is tested on the modelled GPU.
import fc from "fast-check";
import { expect, test } from "vitest";
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

test.each(["orion", "reef", "tgs", "temporal"])(
  "%s decides launch by launch, without delays",
  (name) => {
    expect(policyNamed(name).rules(seen())).toMatchObject({
      protect: 1,
      submission: submission.launch,
      resumeDelayUs: 0,
    });
  },
);

test.each(["orion", "reef"])(
  "where contexts take turns %s lets nothing run beside a request",
  (name) => {
    expect(policyNamed(name).rules(seen({ isolated: true })).whenActive).toBe(whenActive.wait);
  },
);

test("Orion's defaults: as many SMs as there are, 2.5 % of a request alone", () => {
  const { rules } = policyNamed("orion");
  expect(rules(seen())).toMatchObject({ smLimit: 80, budgetUs: 100, wantKernels: 1 });
  expect(rules(seen({ high: [high({ soloUs: 2000 })] })).budgetUs).toBe(50);
  expect(rules(seen({ high: [high({ soloUs: 8000 }), high()] })).budgetUs).toBe(100);
  expect(rules(seen({ high: [high({ burstP50Us: undefined })] })).budgetUs).toBe(50);
  expect(rules({ ...seen(), smCount: undefined }).smLimit).toBe(0);
});

test("temporal finishes the iteration that was begun, also beside a request", () => {
  expect(policyNamed("temporal").rules(seen()).whenActive).toBe(whenActive.finishIteration);
});

test("REEF keeps 12 kernels out", () => {
  expect(policyNamed("reef").rules(seen()).kernelsOut).toBe(12);
});

test("tick-tock is refused with the reason", () => {
  expect(() => policyNamed("tick-tock")).toThrow(
    "tick-tock runs on the modelled GPU only: its high job",
  );
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
    memory = search({ ...seen(), high: [client], nowMs, colocated: colocated(look) }, memory);
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

test("a trickle now and then is enough co-location to go on with the search, none at all is not", () => {
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
  const look = { ...seen(), high: [trains], nowMs: 0, colocated: true };
  expect(search(look).smLimit).toBe(0);
  expect(search({ ...look, ...more }).smLimit).toBeUndefined();
});

test("Orion and TGS have rules also for a high job that reports no launches", () => {
  const look = { ...seen(), high: [trains], nowMs: 0, colocated: true };
  for (const name of ["orion", "tgs"]) {
    const { remember, rules } = policyNamed(name);
    let memory: Memory | undefined;
    for (let nowMs = 0; nowMs < 5000; nowMs += 250) memory = remember?.({ ...look, nowMs }, memory);
    for (const value of Object.values(rules(look, memory))) expect(value).not.toBeNaN();
  }
});

/** The rate of best-effort launches that TGS comes to, look by look, where the high job launches as `rateOf` says. */
function paced(
  rateOf: (bestEffortPerS: number, look: number) => number,
  { looks = 240, everyMs = () => 250 }: { looks?: number; everyMs?: (look: number) => number } = {},
): number[] {
  const { remember, rules } = policyNamed("tgs");
  let memory: Memory | undefined;
  const rates: number[] = [];
  for (let [look, nowMs] = [1, 250]; look <= looks; nowMs += everyMs(look), look++) {
    const perS = 1e9 / rules(seen(), memory).launchEveryNs;
    const launches = Math.round((rateOf(perS, look) * everyMs(look - 1)) / 1000);
    memory = remember?.(
      { ...seen(), high: [{ ...trains, launches }], nowMs, colocated: true },
      memory,
    );
    rates.push(perS);
  }
  return rates;
}

const isCut = (rate: number, i: number, rates: readonly number[]) =>
  rate < 0.2 * (rates[i - 1] ?? 0);

test("TGS grows by half each look while nothing is lost, and is cut to a tenth at a loss of 9 %", () => {
  const free = paced(() => 20_000);
  expect((free[9] ?? 0) / (free[8] ?? 0)).toBeCloseTo(1.5, 3);
  expect(free.at(-1)).toBe(1_000_000);
  const rates = paced((perS) => (perS > 30_000 ? 16_000 : 20_000));
  expect(Math.max(...rates)).toBeLessThan(60_000);
  expect(rates.some(isCut)).toBe(true);
});

test("TGS grows by half also before the high job has launched anything", () => {
  const rates = paced(() => 0, { looks: 10 });
  expect((rates[9] ?? 0) / (rates[8] ?? 0)).toBeCloseTo(1.5, 3);
});

test("TGS measures a loss over a second, and by the time that passed", () => {
  // A look of two thirds: 8.5 % of a second, which takes 8 %, and not the tenth that is left at 9 %.
  const rates = paced((_, look) => (look === 40 ? 13_200 : 20_000));
  expect((rates[40] ?? 0) / (rates[39] ?? 0)).toBeCloseTo(0.92, 3);
  expect(rates.some(isCut)).toBe(false);
  const irregular = paced(() => 20_000, { everyMs: (look) => (look % 5 < 3 ? 300 : 450) });
  expect(irregular.every((rate, i) => rate >= (irregular[i - 1] ?? 0))).toBe(true);
});

test("TGS grows by 20 launches a second each look after the first loss", () => {
  const rates = paced((_, look) => (look === 12 ? 17_000 : 20_000));
  const [last = 0, ...before] = rates.slice(-10).reverse();
  expect(last - (before.at(-1) ?? 0)).toBeCloseTo(9 * 20, -1);
});

test("TGS takes a loss of 12 % that lasts for twenty looks for the high job's own, and a smaller one never", () => {
  const fallenTo = (perS: number) => paced((_, look) => (look < 40 ? 20_000 : perS));
  const rates = fallenTo(12_000);
  const cut = rates.findIndex(isCut);
  const grown = rates.findIndex((rate, i) => i > cut && rate > (rates[i - 1] ?? 0));
  // The first look after the fall shows a quarter of it.
  expect(grown - cut).toBe(1 + 20);
  expect(fallenTo(17_900).at(-1)).toBe(100);
});
