import { expect, test } from "vitest";
import type { Bytes } from "#core";
import { cellsOf } from "./figures.ts";
import type { Measured, Round } from "./processes/run.ts";
import type { Request, Window } from "./processes/window.ts";
import { alone, arrangementNamed, solo } from "./scenario/arrangements.ts";
import type { Arriving, Scenario } from "./scenario/scenario.ts";

const MS = 1e6;
const SECOND = 1e9;
const job = { run: ["x"], memory: 0 as Bytes, startsAlone: false, profile: undefined };

const scenario = (arriving: Arriving, jobs = 1): Scenario => ({
  name: "invented",
  high: { ...job, name: "high" },
  bestEffort: Array.from({ length: jobs }, (_, i) => ({ ...job, name: `be${i + 1}` })),
  arriving,
  arrangements: [solo, alone, arrangementNamed("strict-isolated")],
  rounds: 2,
  requests: 1,
  seconds: 1,
  learn: 1.5,
  slo: [],
});

/** A request every 10 ms, which is in service for `serviceMs`. */
const requests = (seconds: number, serviceMs: number): Request[] =>
  Array.from({ length: seconds * 100 }, (_, i) => ({
    arrivalNs: i * 10 * MS,
    latencyNs: serviceMs * MS,
    serviceNs: serviceMs * MS,
  }));

/** Iterations at a rate that may change in time. */
function iterations(seconds: number, perS: (at: number) => number): number[] {
  const done: number[] = [];
  for (let at = 0; at < seconds; at += 1 / perS(at)) done.push(at * SECOND);
  return done;
}

const window = (given: Partial<Window>, seconds = 2): Window => ({
  startNs: 0,
  settledNs: 0,
  endNs: seconds * SECOND,
  requests: [],
  doneNs: [],
  gpu: undefined,
  ...given,
});

const measure = (rounds: readonly Round[], more: Partial<Measured> = {}): Measured => ({
  ratePerS: 100,
  serviceNs: 2 * MS,
  windowSeconds: 2,
  rounds,
  failures: new Map(),
  cutShort: undefined,
  facts: new Map(),
  ...more,
});

const round = (strict: Window, jobs = 1): Round =>
  new Map([
    ["solo", window({ requests: requests(2, 2) })],
    ["alone", window({ doneNs: Array.from({ length: jobs }, () => iterations(2, () => 200)) })],
    ["strict-isolated", strict],
  ]);

const poisson: Arriving = { kind: "poisson", rate: 0.2 };

function strictCell(found: Measured, of: Scenario) {
  const cell = cellsOf(found, of).find(({ arrangement }) => arrangement === "strict-isolated");
  if (!cell) throw new Error("no such cell");
  return cell;
}

test("ratios are to the windows of the same round, shares to their length", () => {
  const shared = window({ requests: requests(2, 3), doneNs: [iterations(2, () => 100)] });
  const { high, bestEffort } = strictCell(
    measure([round(shared), round(shared)]),
    scenario(poisson),
  );
  expect(high?.burst.p99.value).toBeCloseTo(1.5);
  expect(high?.latencyMs.p50).toBe(3);
  expect(high?.activeShare.value).toBeCloseTo(0.3);
  expect(bestEffort?.retained.value).toBeCloseTo(0.5, 1);
  // Requests that sharing makes longer leave as much as alone.
  expect(bestEffort?.retainedOfPossible).toBeCloseTo(0.5 / 0.8, 1);
  expect(bestEffort?.costSavings).toBeCloseTo(1, 1);
});

test("what requests waited for the GPU is in ms, and only where all of them tell", () => {
  const waits = requests(2, 3).map((request, i) => ({ ...request, waitedNs: (i % 4) * MS }));
  const doneNs = [iterations(2, () => 100)];
  const told = measure([round(window({ requests: waits, doneNs }))]);
  expect(strictCell(told, scenario(poisson)).high?.waitedMs).toEqual({ p50: 1, p99: 3 });
  const [first, ...rest] = waits;
  if (!first) throw new Error("there are requests");
  const oneSilent = [...rest, { ...first, waitedNs: undefined }];
  const untold = measure([round(window({ requests: oneSilent, doneNs }))]);
  expect(strictCell(untold, scenario(poisson)).high).not.toHaveProperty("waitedMs");
});

test("time to first token and per token after it are latencies of their own where answers come token by token", () => {
  // Every 100 ms a request of 200 ms, so that two are under way: the first token after 40 ms, each further one `tokenMs` later.
  const streamed = (tokenMs: number): Request[] =>
    Array.from({ length: 20 }, (_, i) => {
      const latencyNs = (40 + 16 * tokenMs) * MS;
      return {
        arrivalNs: i * 100 * MS,
        latencyNs,
        serviceNs: latencyNs,
        firstNs: 40 * MS,
        tokens: 17,
      };
    });
  const cells = new Map(round(window({ requests: streamed(15), doneNs: [[]] })));
  cells.set("solo", window({ requests: streamed(10) }));
  const { high } = strictCell(measure([cells]), scenario(poisson));
  expect(high?.ttft).toMatchObject({ ms: { p50: 40, p99: 40 }, ratio: { p99: { value: 1 } } });
  expect(high?.tpot).toMatchObject({ ms: { p50: 15, p99: 15 }, ratio: { p99: { value: 1.5 } } });
  // Two at a time are no more than all of the time.
  expect(high?.activeShare.value).toBeLessThanOrEqual(1);
  const whole = strictCell(
    measure([round(window({ requests: requests(2, 3) }))]),
    scenario(poisson),
  );
  expect(whole.high).not.toHaveProperty("ttft");
});

test("of several best-effort jobs the one that keeps least decides what is saved", () => {
  const shared = window({
    requests: requests(2, 2),
    doneNs: [iterations(2, () => 150), iterations(2, () => 60)],
  });
  const { bestEffort } = strictCell(measure([round(shared, 2)]), scenario(poisson, 2));
  expect(bestEffort?.jobs.map(({ retained }) => retained.value.toFixed(1))).toEqual(["0.8", "0.3"]);
  expect(bestEffort?.retained.value).toBeCloseTo(0.5, 1);
  expect(bestEffort?.costSavings).toBeCloseTo(3 * 0.3, 1);
});

test("a closed loop leaves no turns, and its throughput counts fractions", () => {
  const back = (ms: number) => requests(2, 10).map((r, i) => ({ ...r, arrivalNs: i * ms * MS }));
  const found = new Map([
    ...round(window({ requests: back(12.5), doneNs: [iterations(2, () => 20)] })),
    ["solo", window({ requests: back(10) })],
  ]);
  const { high, bestEffort } = strictCell(measure([found]), scenario({ kind: "closed" }));
  expect(high?.throughput.value).toBeCloseTo(0.8);
  expect(bestEffort?.retainedOfPossible).toBeUndefined();
});

test("after a step, throughput has settled when it stays near the step's own", () => {
  // 200 iterations a second for two seconds; 80 a second from 0.5 s after the load went up.
  const perS = (at: number) => (at < 2.5 ? 200 : 80);
  const shared = window({ requests: requests(4, 2), doneNs: [iterations(4, perS)] }, 4);
  const steps: Arriving = {
    kind: "steps",
    steps: [
      { seconds: 2, rate: 0.1 },
      { seconds: 2, rate: 0.6 },
    ],
  };
  const found = new Map([...round(shared), ["solo", window({ requests: requests(4, 2) }, 4)]]);
  const [first, second] = strictCell(measure([found]), scenario(steps)).steps ?? [];
  expect(first?.settledMs).toBeLessThan(300);
  expect(first?.retained).toBeCloseTo(1, 1);
  expect(second?.retained).toBeCloseTo(0.4, 1);
  expect(second?.settledMs).toBeGreaterThan(500);
  expect(second?.settledMs).toBeLessThan(900);
  expect(second?.latency.p99).toBe(1);
});

test("a cell without requests, or whose job died, has failed", () => {
  const empty = round(window({ doneNs: [iterations(2, () => 100)] }));
  expect(strictCell(measure([empty]), scenario(poisson))).toEqual({
    arrangement: "strict-isolated",
    status: "failed",
    reason: "a window passed without one request",
  });
  const died = measure([empty], { failures: new Map([["strict-isolated", "it died"]]) });
  expect(strictCell(died, scenario(poisson))).toMatchObject({
    status: "failed",
    reason: "it died",
  });
});
