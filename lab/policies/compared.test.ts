// The parameter tables of the systems that Cotenant is compared with; what they do is tested on the modelled GPU.

import { expect, test } from "vitest";
import { millis } from "#core";
import {
  isBoundable,
  type Memory,
  type MeteredHigh,
  type Observed,
  policyNamed,
  type SeenHigh,
  withinShare,
} from "#policy";
import { submission, whenActive } from "#protocol";
import { runnablePolicyNamed } from "./registry.ts";

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

test.each(["reef", "tgs", "temporal"])("%s decides launch by launch, without delays", (name) => {
  expect(runnablePolicyNamed(name).rules(seen())).toMatchObject({
    protect: 1,
    submission: submission.launch,
    resumeDelayUs: 0,
  });
});

test("where contexts take turns reef lets nothing run concurrently with a request", () => {
  const rules = runnablePolicyNamed("reef").rules(seen({ isolated: true }));
  expect(rules.whenActive).toBe(whenActive.wait);
});

test("temporal finishes the iteration that was begun, also beside a request", () => {
  expect(runnablePolicyNamed("temporal").rules(seen()).whenActive).toBe(whenActive.finishIteration);
});

test("REEF keeps 12 kernels out", () => {
  expect(runnablePolicyNamed("reef").rules(seen()).kernelsOut).toBe(12);
});

test.each([
  ["reef", false, false],
  ["reef", true, true],
  ["temporal", false, false],
])(
  "the rules of %s are not changed by a share, and it is known whether they could be (isolated: %s)",
  (name, isolated, can) => {
    const rules = runnablePolicyNamed(name).rules(seen({ isolated }));
    expect(withinShare(rules, 0.1, seen({ isolated }))).toBe(rules);
    expect(isBoundable(rules, seen({ isolated }))).toBe(can);
  },
);

test("tick-tock is refused for use on a GPU, with the reason", () => {
  expect(() => runnablePolicyNamed("tick-tock")).toThrow(
    "tick-tock runs on the modelled GPU only: its high job",
  );
});

test.each(["reef", "tgs", "temporal", "tick-tock"])("%s is no choice of the product", (name) => {
  expect(() => policyNamed(name)).toThrow(`No policy is called "${name}"`);
});

const trains: MeteredHigh = {
  name: "high",
  burstP50Us: 4000,
  id: "a",
  training: true,
  objective: undefined,
  ended: undefined,
};

test("TGS has rules also for a high job that reports no launches", () => {
  const look = { ...seen(), high: [trains], nowMs: 0, colocated: true };
  const { remember, rules } = runnablePolicyNamed("tgs");
  let memory: Memory | undefined;
  for (let nowMs = 0; nowMs < 5000; nowMs += 250)
    memory = remember?.({ ...look, nowMs: millis(nowMs) }, memory);
  for (const value of Object.values(rules(look, memory))) expect(value).not.toBeNaN();
});

/** The rate of best-effort launches that TGS comes to, look by look, where the high job launches as `rateOf` says. */
function paced(
  rateOf: (bestEffortPerS: number, look: number) => number,
  { looks = 240, everyMs = () => 250 }: { looks?: number; everyMs?: (look: number) => number } = {},
): number[] {
  const { remember, rules } = runnablePolicyNamed("tgs");
  let memory: Memory | undefined;
  const rates: number[] = [];
  for (let [look, nowMs] = [1, 250]; look <= looks; nowMs += everyMs(look), look++) {
    const perS = 1e9 / rules(seen(), memory).launchEveryNs;
    const launches = Math.round((rateOf(perS, look) * everyMs(look - 1)) / 1000);
    memory = remember?.(
      { ...seen(), high: [{ ...trains, launches }], nowMs: millis(nowMs), colocated: true },
      memory,
    );
    rates.push(perS);
  }
  return rates;
}

const isCut = (rate: number, i: number, rates: readonly number[]) =>
  rate < 0.2 * (rates[i - 1] ?? 0);

test("TGS grows by half each sample while nothing is lost, and is cut to a tenth at a loss of 9 %", () => {
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
  // A sample of two thirds: 8.5 % of a second, which takes 8 %, and not the tenth that is left at 9 %.
  const rates = paced((_, look) => (look === 40 ? 13_200 : 20_000));
  expect((rates[40] ?? 0) / (rates[39] ?? 0)).toBeCloseTo(0.92, 3);
  expect(rates.some(isCut)).toBe(false);
  const irregular = paced(() => 20_000, { everyMs: (look) => (look % 5 < 3 ? 300 : 450) });
  expect(irregular.every((rate, i) => rate >= (irregular[i - 1] ?? 0))).toBe(true);
});

test("TGS grows by 20 launches a second each sample after the first loss", () => {
  const rates = paced((_, look) => (look === 12 ? 17_000 : 20_000));
  const [last = 0, ...before] = rates.slice(-10).reverse();
  expect(last - (before.at(-1) ?? 0)).toBeCloseTo(9 * 20, -1);
});

test("TGS takes a loss of 12 % that lasts for twenty looks for the high job's own, and a smaller one never", () => {
  const fallenTo = (perS: number) => paced((_, look) => (look < 40 ? 20_000 : perS));
  const rates = fallenTo(12_000);
  const cut = rates.findIndex(isCut);
  const grown = rates.findIndex((rate, i) => i > cut && rate > (rates[i - 1] ?? 0));
  // The first sample after the fall shows a quarter of it.
  expect(grown - cut).toBe(1 + 20);
  expect(fallenTo(17_900).at(-1)).toBe(100);
});
