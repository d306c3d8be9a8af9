// The rule tables of the systems that Cotenant is compared with; what they do is tested on the modelled GPU.
import fc from "fast-check";
import { expect, test } from "vitest";
import { submission, whenActive } from "#protocol";
import { policyNamed } from "./policies.ts";
import type { LookedHigh, Memory, Observed, SeenHigh } from "./policy.ts";
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

test("REEF keeps 12 kernels out", () => {
  expect(policyNamed("reef").rules(seen()).kernelsOut).toBe(12);
});

test("tick-tock is refused with the reason", () => {
  expect(() => policyNamed("tick-tock")).toThrow(
    "tick-tock runs on the modelled GPU only: its high job",
  );
});

/** Launches of a training that slows down once so many SMs are given away. */
function searched(
  harmfulFrom: number,
  company = (_look: number) => true,
  standsStill = (_look: number) => false,
) {
  const [seconds, perS] = [120, 20_000];
  let memory: ReturnType<typeof search> | undefined;
  const limits: number[] = [];
  for (let nowMs = 250; nowMs <= seconds * 1000; nowMs += 250) {
    const limit = memory?.smLimit ?? 80;
    const look = nowMs / 250;
    const launches = standsStill(look) ? 0 : (perS * (limit > harmfulFrom ? 0.7 : 1)) / 4;
    const of = { id: "a", training: true, objective: undefined, ended: undefined, launches };
    const client: LookedHigh = { ...high(), ...of };
    memory = search({ ...seen(), high: [client], nowMs, company: company(look) }, memory);
    limits.push(memory.smLimit ?? Number.NaN);
  }
  return limits;
}

test("SM_THRESHOLD is found by halving, from zero on", () => {
  expect(searched(40)[0]).toBe(0);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 81 }), (harmfulFrom) => {
      expect(searched(harmfulFrom).at(-1)).toBe(Math.min(81, harmfulFrom));
    }),
    { numRuns: 20 },
  );
});

test("a trickle now and then is company enough to go on with the search, none at all is not", () => {
  expect(searched(40, (look) => look % 4 === 0).at(-1)).toBe(40);
  expect(searched(40, () => false).at(-1)).toBe(41);
});

test("that the high job stands still for a while is not taken for a loss", () => {
  const idle = (look: number) => look % 60 < 30;
  expect(searched(40, (look) => !idle(look), idle).at(-1)).toBe(40);
  expect(searched(81, (look) => !idle(look), idle).at(-1)).toBe(81);
});

test("it is not looked for where the high job serves requests", () => {
  const client: LookedHigh = { ...high(), id: "a", objective: undefined, ended: undefined };
  expect(search({ ...seen(), high: [client], nowMs: 0, company: true }).smLimit).toBeUndefined();
});

/** The rate of best-effort launches that TGS comes to, where the high job launches as `rateOf` says. */
function paced(rateOf: (bestEffortPerS: number) => number, seconds = 60): number[] {
  const { remember, rules } = policyNamed("tgs");
  let memory: Memory | undefined;
  const rates: number[] = [];
  for (let nowMs = 250; nowMs <= seconds * 1000; nowMs += 250) {
    const perS = 1e9 / rules(seen(), memory).launchEveryNs;
    const launches = Math.round(rateOf(perS) / 4);
    const client: LookedHigh = {
      ...high(),
      id: "a",
      objective: undefined,
      ended: undefined,
      launches,
    };
    memory = remember?.({ ...seen(), high: [client], nowMs, company: true }, memory);
    rates.push(perS);
  }
  return rates;
}

test("TGS grows by half each look while nothing is lost, and is cut to a tenth at a loss of 9 %", () => {
  const free = paced(() => 20_000);
  expect(free.at(-1)).toBeGreaterThan(500_000);
  const rates = paced((perS) => (perS > 30_000 ? 16_000 : 20_000));
  expect(Math.max(...rates)).toBeLessThan(60_000);
  expect(rates.some((rate, i) => rate < 0.2 * (rates[i - 1] ?? 0))).toBe(true);
});

test("TGS takes a loss that lasts for the high job's own, in the end", () => {
  const rates = paced((perS) => (perS > 0 ? 0 : 1) || 1, 60);
  expect(rates.at(-1)).toBeGreaterThan(0);
  let at = 0;
  const fallen = paced(() => (at++ < 40 ? 20_000 : 12_000), 60);
  expect(fallen.at(-1)).toBeGreaterThan(2 * Math.min(...fallen));
});
