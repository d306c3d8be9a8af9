// The policy `cotenant` beside an LLM engine whose objectives are about requests, in virtual time: what happens at sudden
// changes. How much it gives: engine.slow.test.ts.
import { expect, test } from "vitest";
import { quantile } from "#core";
import { keptIn, type Outcome, played } from "#llm-model";
import { at, fast, large, lengths, limitsAlone } from "./shapes.ts";

const calm = at(large, () => 0.65);
const limits = limitsAlone(at(large, () => 2.6));
const requestsLate = ({ served }: Outcome) =>
  served.filter(({ ttft, tpot }) => 1000 * ttft > limits.ttft || 1000 * tpot > limits.tpot);

test.each([
  { kind: "ttft", times: { ttft: 0.8, tpot: 3 } },
  { kind: "tpot", times: { ttft: 4, tpot: 0.95 } },
])("$kind leaves the least room where its limit is the tightest", ({ kind, times }) => {
  const outcome = played({
    ...calm,
    seconds: 120,
    limits: { ttft: times.ttft * limits.ttft, tpot: times.tpot * limits.tpot },
  });
  expect(
    new Set(outcome.looks.filter(({ at }) => at > 60).map(({ tightest }) => tightest)),
  ).toEqual(new Set([kind]));
});

test("a load that rises fourfold makes requests late for two seconds at most", () => {
  const outcome = played({
    ...calm,
    limits,
    traffic: { ...lengths, perS: (s) => (s < 150 ? 0.65 : 2.6) },
  });
  const arrived = requestsLate(outcome).map(({ arrivedMs }) => arrivedMs / 1000);
  expect(arrived.filter((s) => s > 152)).toEqual([]);
});

test("a batch that grows to 64 at once is given full protection within two seconds", () => {
  const outcome = played({
    ...calm,
    limits,
    events: (plant, s) => {
      if (s === 150) plant.flood(64);
    },
  });
  const after = outcome.looks.filter((look) => look.at >= 150 && look.level === 0);
  expect(after[0]?.at).toBeLessThanOrEqual(152);
});

test("an engine that goes on with a model twice as slow makes no request late that comes two seconds later", () => {
  const slower = { ...large, stepMs: 2 * large.stepMs, perSequenceMs: 2 * large.perSequenceMs };
  const swapped = played({
    ...calm,
    limits: { ttft: 2 * limits.ttft, tpot: 1.35 * limits.tpot },
    events: (plant, s) => {
      if (s === 150) plant.become(slower);
    },
  });
  const late = swapped.served
    .filter(({ tpot, ttft }) => 1000 * tpot > 1.35 * limits.tpot || 1000 * ttft > 2 * limits.ttft)
    .map(({ arrivedMs }) => arrivedMs / 1000);
  expect(swapped.looks.findLast((look) => look.at < 150)?.level).toBeGreaterThan(10);
  expect(late.filter((s) => s > 30 && (s < 142 || s > 152))).toEqual([]);
  expect(swapped.looks.findLast((look) => look.at < 330)?.level).toBeGreaterThan(0);
});

test("steps that take ten times as long for three seconds, as graphs are captured, get full protection within two", () => {
  const outcome = played({
    ...calm,
    limits,
    events: (plant, s) => {
      if (s === 150) plant.become({ ...large, stepMs: 10 * large.stepMs });
      if (s === 153) plant.become(large);
    },
  });
  const after = outcome.looks.filter((look) => look.at >= 150 && look.level === 0);
  expect(after[0]?.at).toBeLessThanOrEqual(152);
  expect(outcome.looks.findLast((look) => look.at < 250)?.level).toBeGreaterThan(5);
});

test("first requests that take ten times as long do not keep the share away for minutes", () => {
  const warm = { ...at(large, () => 1.6), limits: limitsAlone(at(large, () => 1.6)), seconds: 150 };
  const shapes = [large, { ...large, cold: { seconds: 5, times: 10 } }];
  const [usual = 0, cold = 0] = shapes.map((shape) => keptIn(played({ ...warm, shape }), 60));
  expect(usual).toBeGreaterThan(0.04);
  expect(cold).toBeGreaterThan(0.5 * usual);
});

test("an engine whose counters begin anew goes on", () => {
  const outcome = played({
    ...calm,
    limits,
    events: (plant, s) => {
      if (s === 150) plant.restart();
    },
  });
  expect(outcome.looks.findLast((look) => look.at < 150)?.level).toBeGreaterThan(5);
  expect(outcome.looks.findLast((look) => look.at < 180)?.level).toBeGreaterThan(5);
});

test("an endpoint that dies leads to full protection, and one that is back to a share", () => {
  const outcome = played({
    ...calm,
    limits,
    events: (plant, s) => {
      if (s === 150 || s === 180) plant.alive = s === 180;
    },
  });
  expect(
    outcome.looks.filter((look) => look.at > 150.5 && look.at < 180 && look.level > 0),
  ).toEqual([]);
  expect(outcome.looks.findLast((look) => look.at < 220)?.level).toBeGreaterThan(5);
});

/** In us. */
function statistics({ served }: Outcome) {
  const of = (values: readonly number[]) => ({
    p50: quantile(values, 0.5),
    p90: quantile(values, 0.9),
    p95: quantile(values, 0.95),
    mean: values.reduce((sum, value) => sum + value, 0) / values.length,
  });
  const us = (ms: number) => 1000 * ms;
  return {
    ttft: of(served.map(({ ttft }) => us(ttft))),
    tpot: of(served.map(({ tpot }) => us(tpot))),
  };
}

test.each([
  ["p50", large, 1.6],
  ["p90", large, 1.6],
  ["p95", fast, 6],
  ["mean", fast, 6],
] as const)(
  "an objective about the %s holds, and best-effort work gets what it leaves",
  (which, shape, perS) => {
    const run = at(shape, () => perS);
    const alone = statistics(played({ ...run, fixed: "alone" }));
    const limits = { ttft: 1.5 * alone.ttft[which], tpot: 1.3 * alone.tpot[which] };
    const outcome = played({ ...run, limits, quantile: which });
    const beside = statistics(outcome);
    expect(beside.ttft[which]).toBeLessThan(limits.ttft);
    expect(beside.tpot[which]).toBeLessThan(limits.tpot);
    expect(keptIn(outcome, 60)).toBeGreaterThan(0.1);
  },
);
