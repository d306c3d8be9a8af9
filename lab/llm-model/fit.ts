// The steps of an LLM engine, from what a client saw of requests that it served alone. All sequences get their tokens in the same
// steps, so the time between two tokens of one tells how long a step took, and the others how many sequences were in it.
import { quantile } from "#core";
import type { Shape } from "./engine.ts";

/** A request, as the client saw it: times in ms on one clock. */
export interface SeenRequest {
  readonly arrivedMs: number;
  readonly promptTokens: number;
  /** When each of its tokens came: at least one. */
  readonly tokensMs: readonly number[];
}

/** Facts that requests do not show. */
export interface Assumed {
  /** The GPU idles between two steps, while the CPU schedules. */
  readonly gapMs: number;
  /** Tokens of a step at the most: longer prompts are read in several. */
  readonly batchTokens: number;
  readonly mostSequences: number;
  readonly cacheTokens: number;
  readonly promptLaunches?: number | undefined;
}

/** Fewer steps without a prompt in them, or fewer first tokens, tell nothing. */
export const MIN_SAMPLES = { steps: 100, firsts: 10 } as const;
/** First tokens that came within so many ms came in the same step. */
const SAME_STEP_MS = 5;

/** undefined: there is too little to tell from. */
export function fitted(requests: readonly SeenRequest[], assumed: Assumed): Shape | undefined {
  const times = new Times(requests);
  const steps = decodingSteps(requests, times);
  const firsts = firstTokens(requests, times);
  if (steps.length < MIN_SAMPLES.steps || firsts.length < MIN_SAMPLES.firsts) return undefined;
  const { base, each } = stepLine(steps);
  const perPromptToken = slope(
    firsts.map(({ ms, prompt, sequences }) => {
      const parts = Math.ceil(prompt / assumed.batchTokens);
      return [prompt, ms - parts * (base + each * sequences)] as const;
    }),
  );
  return {
    ...assumed,
    stepMs: Math.max(0.1, base - assumed.gapMs),
    perSequenceMs: each,
    perContextMs: 0,
    perPromptTokenMs: Math.max(0, perPromptToken),
  };
}

const firstMsOf = ({ tokensMs }: SeenRequest): number => tokensMs[0] ?? Number.NaN;
const lastMsOf = ({ tokensMs }: SeenRequest): number => tokensMs.at(-1) ?? Number.NaN;

/** When requests arrived, and had their first and their last token, each in order. */
class Times {
  readonly #arrived: Float64Array;
  readonly #first: Float64Array;
  readonly #last: Float64Array;

  constructor(requests: readonly SeenRequest[]) {
    const sorted = (of: (one: SeenRequest) => number) => Float64Array.from(requests, of).sort();
    this.#arrived = sorted(({ arrivedMs }) => arrivedMs);
    this.#first = sorted(firstMsOf);
    this.#last = sorted(lastMsOf);
  }

  /** Sequences that make tokens at that time. */
  decodingAt(ms: number): number {
    return below(this.#first, ms) - below(this.#last, ms);
  }

  /** Whether a prompt is read between the two, or waits. */
  reads(fromMs: number, toMs: number): boolean {
    return below(this.#arrived, toMs) > below(this.#first, fromMs);
  }
}

/** How many of the numbers, which are in order, are smaller. */
function below(sorted: Float64Array, than: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? than) < than) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Tokens of one step reach the client within so many ms. */
const JITTER_MS = 1;

/** Steps in which no prompt was read or waited, with the number of sequences. */
const decodingSteps = (requests: readonly SeenRequest[], times: Times) =>
  requests.flatMap(({ tokensMs }) =>
    tokensMs.slice(1).flatMap((at, i) => {
      const before = tokensMs[i] ?? at;
      const reads = times.reads(before + JITTER_MS, at);
      return reads ? [] : [{ ms: at - before, sequences: times.decodingAt((at + before) / 2) }];
    }),
  );

/** First tokens, of which several may come in one step: how long the first of them to arrive was waited for, and all their prompts. */
function firstTokens(requests: readonly SeenRequest[], times: Times) {
  const sorted = requests.toSorted((a, b) => firstMsOf(a) - firstMsOf(b));
  const groups: SeenRequest[][] = [];
  for (const one of sorted) {
    const last = groups.at(-1);
    const [begins] = last ?? [];
    if (last && begins && firstMsOf(one) - firstMsOf(begins) < SAME_STEP_MS) last.push(one);
    else groups.push([one]);
  }
  return groups.map((group) => {
    const arrived = Math.min(...group.map(({ arrivedMs }) => arrivedMs));
    const [one] = group;
    const came = one ? firstMsOf(one) : arrived;
    return {
      ms: came - arrived,
      prompt: group.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
      sequences: times.decodingAt((came + arrived) / 2),
    };
  });
}

/** By least squares through the median of each number of sequences. */
function stepLine(steps: readonly { readonly ms: number; readonly sequences: number }[]) {
  const by = new Map<number, number[]>();
  for (const { ms, sequences } of steps) {
    const all = by.get(sequences);
    if (all) all.push(ms);
    else by.set(sequences, [ms]);
  }
  const points = [...by].map(([n, all]) => ({ n, ms: median(all), weight: all.length }));
  const weight = points.reduce((sum, one) => sum + one.weight, 0);
  const mean = (of: (one: (typeof points)[number]) => number) =>
    points.reduce((sum, one) => sum + one.weight * of(one), 0) / weight;
  const [n, ms] = [mean((one) => one.n), mean((one) => one.ms)];
  const spread = mean((one) => (one.n - n) ** 2);
  const each = spread > 0 ? Math.max(0, mean((one) => (one.n - n) * (one.ms - ms)) / spread) : 0;
  return { base: ms - each * n, each };
}

/** With more points, evenly spaced ones are taken. */
const MAX_POINTS = 600;

/** The median of the slopes of all pairs of points (Theil 1950, Sen 1968): a few that waited for something else do not matter. */
function slope(all: readonly (readonly [x: number, y: number])[]): number {
  const each = Math.ceil(all.length / MAX_POINTS);
  const points = all.filter((_, i) => i % each === 0);
  const slopes = points.flatMap(([x, y], i) =>
    points.slice(i + 1).flatMap(([x2, y2]) => (x2 === x ? [] : [(y2 - y) / (x2 - x)])),
  );
  return slopes.length === 0 ? 0 : median(slopes);
}

const median = (values: readonly number[]): number => quantile(values, 0.5);
