// Makes the cells of a result from the times of requests and iterations.

import { quantile } from "#core";
import { mean, meanRatio, type Pair, type Ratio, rate, slowdowns } from "#measure";
import { meanOf } from "./processes/gpu-watch.ts";
import type { Measured, Round } from "./processes/run.ts";
import type { Request, Window } from "./processes/window.ts";
import { type Arrangement, alone, solo } from "./scenario/arrangements.ts";
import type {
  BestEffortFigures,
  BothQuantiles,
  Cell,
  GpuFigures,
  HighFigures,
  StepFigures,
} from "./scenario/result.ts";
import type { Arriving, Scenario } from "./scenario/scenario.ts";

export const cellsOf = (measured: Measured, scenario: Scenario): Cell[] =>
  scenario.arrangements.map((arrangement) => cellOf(arrangement, measured, scenario));

/** An arrangement's windows, each beside the solo and alone windows of its round. */
interface Trio {
  readonly window: Window;
  readonly solo: Window;
  readonly alone: Window;
}

function cellOf(arrangement: Arrangement, measured: Measured, scenario: Scenario): Cell {
  const reason = measured.failures.get(arrangement.name);
  const { name } = arrangement;
  if (reason !== undefined) return { arrangement: name, status: "failed", reason };
  const trios = measured.rounds.flatMap((round) => trioOf(round, name) ?? []);
  if (trios.length === 0)
    return { arrangement: name, status: "failed", reason: "no round was measured" };
  if (arrangement.high && !trios.every(({ window }) => window.requests.length > 0))
    return { arrangement: name, status: "failed", reason: "a window passed without one request" };
  const high = arrangement.high ? highFigures(trios) : undefined;
  const bestEffort = arrangement.bestEffort
    ? bestEffortFigures(trios, scenario, arrangement.high ? high : undefined)
    : undefined;
  const rules = trios.at(-1)?.window.rules;
  const gpu = gpuFigures(trios.map(({ window }) => window));
  const steps = stepsOf(arrangement, trios, scenario.arriving, measured.serviceNs);
  return {
    arrangement: name,
    status: "ok",
    ...(rules ? { rules } : {}),
    ...(high ? { high } : {}),
    ...(bestEffort ? { bestEffort } : {}),
    ...(gpu ? { gpu } : {}),
    ...(steps ? { steps } : {}),
  };
}

function trioOf(round: Round, name: string): Trio | undefined {
  const window = round.get(name);
  const high = round.get(solo.name);
  const bestEffort = round.get(alone.name);
  return window && high && bestEffort ? { window, solo: high, alone: bestEffort } : undefined;
}

/** A time of a request in ns; NaN where it has none. */
type Time = (request: Request) => number;

const latency: Time = ({ latencyNs }) => latencyNs;
/** A request that never began has a time of waiting, and none of service. */
const service: Time = ({ serviceNs }) => (serviceNs > 0 ? serviceNs : Number.NaN);
const waited: Time = ({ serviceNs, waitedNs = Number.NaN }) =>
  serviceNs > 0 ? waitedNs : Number.NaN;
const toFirstToken: Time = ({ firstNs = Number.NaN }) => firstNs;
/** Per token after the first one. */
const perToken: Time = ({ latencyNs, firstNs = Number.NaN, tokens = 0 }) =>
  tokens > 1 ? (latencyNs - firstNs) / (tokens - 1) : Number.NaN;

/** In an open loop request i of both windows arrived at the same offset. */
function pairsOf({ window, solo: base }: Trio, time: Time): Pair[] {
  return window.requests.flatMap((request, i): Pair[] => {
    const alone = base.requests[i];
    const pair: Pair = [alone ? time(alone) : Number.NaN, time(request)];
    return pair.some(Number.isNaN) ? [] : [pair];
  });
}

const at = (requests: readonly Request[], time: Time, q: number): number =>
  quantile(
    requests.map(time).filter((ns) => !Number.isNaN(ns)),
    q,
  ) / 1e6;

const none: Ratio = { value: Number.NaN, low: Number.NaN, high: Number.NaN, rounds: [] };

function highFigures(trios: readonly Trio[]): HighFigures {
  const ratios = (time: Time, quantiles: readonly number[]) =>
    slowdowns(
      trios.map((trio) => pairsOf(trio, time)),
      quantiles,
    );
  const [p50 = none, p95 = none, p99 = none] = ratios(latency, [0.5, 0.95, 0.99]);
  const [burst50 = none, burst99 = none] = ratios(service, [0.5, 0.99]);
  const requests = trios.flatMap(({ window }) => window.requests);
  const tells = requests.every(({ waitedNs }) => waitedNs !== undefined);
  const streams = requests.every(({ firstNs }) => firstNs !== undefined);
  const both = (time: Time): BothQuantiles => {
    const [ratio50 = none, ratio99 = none] = ratios(time, [0.5, 0.99]);
    return {
      ms: { p50: at(requests, time, 0.5), p99: at(requests, time, 0.99) },
      ratio: { p50: ratio50, p99: ratio99 },
    };
  };
  return {
    requests: requests.length,
    latencyMs: {
      p50: at(requests, latency, 0.5),
      p95: at(requests, latency, 0.95),
      p99: at(requests, latency, 0.99),
    },
    burstMs: { p50: at(requests, service, 0.5), p99: at(requests, service, 0.99) },
    ...(tells && { waitedMs: { p50: at(requests, waited, 0.5), p99: at(requests, waited, 0.99) } }),
    ...(streams && { ttft: both(toFirstToken), tpot: both(perToken) }),
    latency: { p50, p95, p99 },
    burst: { p50: burst50, p99: burst99 },
    throughput: meanRatio(trios.map(({ window, solo: base }) => [perS(base), perS(window)])),
    activeShare: meanRatio(trios.map(({ window }) => [1, activeShare(window)])),
  };
}

const done = ({ arrivalNs, latencyNs }: Request) => arrivalNs + latencyNs;

/** Requests done per second of the window. The one under way counts by its fraction. */
const perS = ({ requests, settledNs, endNs }: Window): number =>
  rate(
    requests.map(done).sort((a, b) => a - b),
    settledNs,
    endNs,
  );

/** The part of the window in which at least one request was in service. A service that batches has several at a time. */
function activeShare({ requests, settledNs, endNs }: Window): number {
  let busy = 0;
  let counted = settledNs;
  const begun = (request: Request) => done(request) - request.serviceNs;
  for (const request of requests.toSorted((a, b) => begun(a) - begun(b))) {
    const to = Math.min(done(request), endNs);
    busy += Math.max(0, to - Math.max(begun(request), counted));
    counted = Math.max(counted, to);
  }
  return busy / (endNs - settledNs);
}

function bestEffortFigures(
  trios: readonly Trio[],
  { bestEffort, arriving }: Scenario,
  high: HighFigures | undefined,
): BestEffortFigures {
  const speeds = ({ doneNs, iterations, settledNs, endNs }: Window, job: number) =>
    iterations
      ? ((iterations[job] ?? 0) / (endNs - settledNs)) * 1e9
      : rate(doneNs[job] ?? [], settledNs, endNs);
  const jobs = bestEffort.map(({ name }, i) => ({
    name,
    perS: mean(trios.map(({ window }) => speeds(window, i))),
    retained: meanRatio(
      trios.map(({ window, alone: base }) => [speeds(base, i), speeds(window, i)]),
    ),
  }));
  const retained = meanRatio(
    trios.map(({ window, alone: base }) => [
      1,
      mean(bestEffort.map((_, i) => speeds(window, i) / speeds(base, i))),
    ]),
  );
  // Time that requests leave if they take no longer than alone, so that best-effort work done in a longer one counts.
  // A closed loop is always active, so it leaves no turns to best-effort work.
  const busy = mean(trios.map(({ solo: base }) => activeShare(base)));
  const free =
    high && arriving.kind !== "closed" ? 1 - busy * Math.min(1, high.throughput.value) : 0;
  const least = Math.min(...jobs.map((job) => job.retained.value));
  return {
    jobs,
    retained,
    retainedOfPossible: free > 0.02 ? retained.value / free : undefined,
    costSavings: high && (jobs.length + 1) * least,
  };
}

function gpuFigures(windows: readonly Window[]): GpuFigures | undefined {
  const seen = windows.flatMap(({ gpu }) => gpu ?? []);
  if (seen.length === 0) return undefined;
  const figure = (what: keyof GpuFigures) => meanOf(seen.map((one) => one[what]));
  return {
    smActivity: figure("smActivity"),
    dramActivity: figure("dramActivity"),
    pcieInMiBs: figure("pcieInMiBs"),
    smClockMHz: figure("smClockMHz"),
    powerW: figure("powerW"),
  };
}

/** The length of the interval over which best-effort throughput is compared to find out whether it has settled. */
const LOOK_NS = 250e6;
const SETTLED_WITHIN = 0.1;

function stepsOf(
  arrangement: Arrangement,
  trios: readonly Trio[],
  arriving: Arriving,
  serviceNs: number,
): StepFigures[] | undefined {
  if (arriving.kind !== "steps" || !arrangement.high) return undefined;
  let from = 0;
  return arriving.steps.map(({ seconds, rate: load }) => {
    const begin = from;
    from += seconds * 1e9;
    const end = from;
    const within = ({ window }: { window: Window }) => {
      const start = window.startNs + begin;
      return window.requests.map(
        ({ arrivalNs }) => arrivalNs >= start && arrivalNs < window.startNs + end,
      );
    };
    const pairs = trios.map((trio) => {
      const inside = within(trio);
      return pairsOf(trio, latency).filter((_, i) => inside[i]);
    });
    const [p50 = none, p99 = none] = slowdowns(pairs, [0.5, 0.99]);
    const stretches = trios.map(({ window, alone: base }) => ({
      done: window.doneNs[0] ?? [],
      start: window.startNs + begin,
      end: window.startNs + end,
      base: rate(base.doneNs[0] ?? [], base.settledNs, base.endNs),
    }));
    const kept = stretches.map((s) => rate(s.done, s.start + (s.end - s.start) / 2, s.end));
    const settled = stretches.flatMap((s, i) => settledMs(s, kept[i] ?? 0) ?? []);
    return {
      ratePerS: load / (serviceNs / 1e9),
      seconds,
      latency: { p50: p50.value, p99: p99.value },
      retained: mean(stretches.map((s, i) => (kept[i] ?? 0) / s.base)),
      settledMs: settled.length === stretches.length ? quantile(settled, 0.5) : undefined,
    };
  });
}

/** The first time at which the throughput of a sliding interval is within a tenth of that of the step's second half. */
function settledMs(
  { done: times, start, end }: { done: readonly number[]; start: number; end: number },
  steady: number,
): number | undefined {
  for (let at = start; at + LOOK_NS <= end; at += LOOK_NS / 10) {
    const seen = rate(times, at, at + LOOK_NS);
    if (Math.abs(seen - steady) <= SETTLED_WITHIN * steady) return (at + LOOK_NS - start) / 1e6;
  }
  return undefined;
}
