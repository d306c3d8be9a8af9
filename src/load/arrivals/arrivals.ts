// Times are ns from the start, sorted, and a pure function of shape, rate and seed. A late request
// queues and delays no arrival after it: a slow GPU would lower its own load.

import type { Random } from "#core";
import { gammas, usage } from "#core";
import { parseTrace, type Schedule, type Trace, traceSchedule } from "./trace.ts";

export type Arrivals =
  | { readonly kind: "poisson" | "uniform" | "bursty"; readonly rate: number }
  | { readonly kind: "gamma"; readonly rate: number; readonly cv: number }
  | { readonly kind: "steps"; readonly steps: readonly Step[] }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "trace"; readonly trace: Trace }
  | { readonly kind: "closed" };

interface Step {
  readonly seconds: number;
  readonly rate: number; // requests a second
}

// A two-state Markov-modulated Poisson process has exponential phases. 0.2·3 + 0.8·0.5 = 1, so the
// mean is the rate asked for.
const bursts = {
  burst: { factor: 3, meanSeconds: 0.2 },
  quiet: { factor: 0.5, meanSeconds: 0.8 },
} as const;

const nsPerSecond = 1e9;

export function parseArrivals(text: string, rate: number | undefined): Arrivals {
  const [kind, ...rest] = text.split(":");
  const detail = rest.join(":");
  switch (kind) {
    case "closed":
      return { kind };
    case "poisson":
    case "uniform":
    case "bursty":
      return { kind, rate: rateFor(kind, rate) };
    case "gamma":
      return { kind, rate: rateFor(kind, rate), cv: parseCv(detail) };
    case "file":
      if (!detail) throw usage("--arrivals file: lacks a path.", "Write file:PATH.");
      return { kind, path: detail };
    case "steps":
      return { kind, steps: detail.split(",").map((step) => parseStep(step, rate)) };
    case "trace":
      if (rate !== undefined && !(rate > 0))
        throw usage("--rate must be more than 0 to scale a trace.");
      return { kind, trace: parseTrace(detail, rate) };
    default:
      throw usage(
        `"${text}" is no kind of arrivals.`,
        "Known: poisson, uniform, bursty, gamma:CV, closed, file:PATH, steps:10s@20,10s@2x, trace:PATH?column=t_ms&unit=ms.",
      );
  }
}

function rateFor(kind: string, rate: number | undefined): number {
  if (rate !== undefined && rate > 0) return rate;
  throw usage(`--arrivals ${kind} needs a rate.`, "Add --rate REQUESTS_PER_SECOND.");
}

/** Below 0.01 arrivals are as good as uniform; above 100 nearly all gaps are 0. */
function parseCv(text: string): number {
  const cv = text.trim() === "" ? Number.NaN : Number(text);
  if (cv >= 0.01 && cv <= 100) return cv;
  throw usage(
    `--arrivals gamma:${text} needs a coefficient of variation from 0.01 to 100.`,
    "gamma:1 is poisson; gamma:4 comes in clumps.",
  );
}

/** `10s@20` is 20 requests a second, `10s@2x` twice the rate that is given for all steps. */
function parseStep(text: string, base: number | undefined): Step {
  const match = /^(\d+(?:\.\d+)?)s@(\d+(?:\.\d+)?)(x?)$/.exec(text.trim());
  if (!match) throw usage(`"${text}" is not a step such as 10s@20 or 10s@2x.`);
  const [, seconds, rate, times] = match;
  if (times === "x" && base === undefined)
    throw usage(`The step "${text}" needs a rate to multiply.`, "Add --rate REQUESTS_PER_SECOND.");
  return { seconds: Number(seconds), rate: Number(rate) * (times === "x" ? (base ?? 0) : 1) };
}

export function parseArrivalFile(text: string, path: string): number[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  if (lines.length === 0) throw usage(`${path} has no arrival: a line each, in ns from the start.`);
  return lines
    .map((line) => {
      if (!/^\d+$/.test(line.trim()))
        throw usage(`"${line.trim()}" in ${path} is not a whole number of ns.`);
      return Number(line);
    })
    .sort((a, b) => a - b);
}

type Generated = Exclude<Arrivals, { kind: "file" | "trace" | "closed" }>;

/** Files, traces and steps have lengths of their own, so `seconds` is not used for them. */
export function scheduleArrivals(
  arrivals: Exclude<Arrivals, { kind: "closed" }>,
  seconds: number,
  random: Random,
  readText: (path: string) => string,
): Schedule {
  switch (arrivals.kind) {
    case "file": {
      const offsets = parseArrivalFile(readText(arrivals.path), arrivals.path);
      return { offsets, seconds: (offsets.at(-1) ?? 0) / nsPerSecond };
    }
    case "trace":
      return traceSchedule(readText(arrivals.trace.path), arrivals.trace);
    default:
      return {
        offsets: arrivalTimes(arrivals, seconds, random),
        seconds: arrivalSeconds(arrivals, seconds),
      };
  }
}

export const arrivalSeconds = (arrivals: Generated, seconds: number): number =>
  arrivals.kind === "steps" ? sum(arrivals.steps.map((step) => step.seconds)) : seconds;

export function arrivalTimes(arrivals: Generated, seconds: number, random: Random): number[] {
  switch (arrivals.kind) {
    case "poisson":
      return poisson([{ seconds, rate: arrivals.rate }], random);
    case "steps":
      return poisson(arrivals.steps, random);
    case "bursty":
      return poisson(burstySteps(arrivals.rate, seconds, random), random);
    case "gamma":
      return renewals(gammas(arrivals.cv, random), arrivals.rate, seconds);
    case "uniform":
      return uniform(arrivals.rate, seconds);
  }
}

/** Poisson arrivals are memoryless, so each step starts independently. */
function poisson(steps: Iterable<Step>, random: Random): number[] {
  const times: number[] = [];
  let start = 0;
  for (const { seconds, rate } of steps) {
    const end = start + seconds;
    if (rate > 0)
      for (let t = start + exponential(random, rate); t < end; t += exponential(random, rate))
        times.push(Math.floor(t * nsPerSecond));
    start = end;
  }
  return times;
}

function renewals(gap: Random, rate: number, seconds: number): number[] {
  const times: number[] = [];
  for (let t = gap() / rate; t < seconds; t += gap() / rate)
    times.push(Math.floor(t * nsPerSecond));
  return times;
}

const exponential = (random: Random, rate: number): number => -Math.log(1 - random()) / rate;

function* burstySteps(rate: number, seconds: number, random: Random): Generator<Step> {
  const { burst, quiet } = bursts;
  const share = burst.meanSeconds / (burst.meanSeconds + quiet.meanSeconds);
  let state: (typeof bursts)[keyof typeof bursts] = random() < share ? burst : quiet;
  for (let left = seconds; left > 0; ) {
    const stay = Math.min(left, exponential(random, 1 / state.meanSeconds));
    yield { seconds: stay, rate: rate * state.factor };
    left -= stay;
    state = state === burst ? quiet : burst;
  }
}

/** The first arrival comes after half a gap. */
function uniform(rate: number, seconds: number): number[] {
  const count = Math.floor(seconds * rate + 0.5);
  const times = Array.from({ length: count }, (_, i) =>
    Math.floor(((i + 0.5) / rate) * nsPerSecond),
  );
  return times.filter((t) => t < seconds * nsPerSecond);
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);
