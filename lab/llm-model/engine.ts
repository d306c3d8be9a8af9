// An LLM engine in virtual time, beside best-effort work: a scheduler with continuous batching and chunked prefill, a
// limited key-value cache, and the histograms that vLLM has.
import { type HistogramSeries, mulberry32, type Random } from "#core";
import { type EngineStep, h200, type RareBursts, type RequestKind, requestKinds } from "#policy";
import type { Rules } from "#protocol";
import { Counted, REQUEST_S, TOKEN_S, TTFT_S } from "./histogram.ts";

/** Times in ms, alone. */
export interface Shape {
  /** Time of a step without work: weights are read once. */
  readonly stepMs: number;
  readonly perSequenceMs: number;
  /** For each token in the cache of a sequence that decodes. */
  readonly perContextMs: number;
  readonly perPromptTokenMs: number;
  /** Between steps the CPU schedules, and the GPU idles. */
  readonly gapMs: number;
  readonly mostSequences: number;
  /** Tokens of one step. */
  readonly batchTokens: number;
  readonly cacheTokens: number;
  /**
   * Number of kernels that a prefill step launches, while the others replay a CUDA graph each. undefined: all launch
   * alike, so only their length distinguishes them.
   */
  readonly promptLaunches?: number | undefined;
  /**
   * Each step is scheduled when the one before begins (asynchronous scheduling), so a request that arrives waits for the step that
   * runs and for the next.
   */
  readonly schedulesAhead?: boolean;
  /** Steps of its first seconds take so many times as long: kernels are compiled, graphs are captured. */
  readonly cold?: { readonly seconds: number; readonly times: number };
}

export interface Traffic {
  readonly perS: (at: number) => number;
  /** Coefficient of variation of the time between arrivals; 1: Poisson. */
  readonly burstiness: number;
  /** Each request that arrives is like one of these; or its lengths are distributed lognormally. */
  readonly like?: readonly Tokens[];
  readonly prompt?: { readonly mean: number; readonly cv: number };
  readonly output?: { readonly mean: number; readonly cv: number };
  /** This part of the requests finds this part of its prompt in the prefix cache. */
  readonly cached?: { readonly requests: number; readonly part: number };
  /** The kinds of request times that the engine reports; undefined: all. */
  readonly tells?: readonly RequestKind[];
}

export interface Tokens {
  readonly prompt: number;
  readonly output: number;
}

interface Request {
  readonly arrivedMs: number;
  readonly prompt: number;
  readonly output: number;
  promptLeft: number;
  made: number;
  firstMs: number;
  lastMs: number;
}

/** A request that ended, times in ms. */
export interface Served {
  readonly arrivedMs: number;
  readonly ttft: number;
  readonly tpot: number;
  readonly e2e: number;
}

/** Defaults of lengths that are not stated. */
const DEFAULT_LENGTH = { mean: 256, cv: 1 } as const;
const SWITCH_MS = h200.switchUs / 1000;

/**
 * Constants of transformers' continuous batching on an H200: the CPU time of a launch in ms, and the most with which
 * the inputs of a step are made (bench/results/2026-11-29-h200-engine-bursts.json).
 */
const LAUNCH_MS = 0.025;
const INPUT_LAUNCHES = 53;
/** Number of prefill steps after which their launches are recognised (src/agent/steps/rare-bursts.ts). */
const MIN_PREFILL_STEPS = 3;

/** For this long the agent meters bursts. */
const METERED_MS = 4000;

/** `costs`: how much longer the engine takes for a ms of best-effort work concurrent with it: 1 where contexts take turns. */
export class EnginePlant {
  readonly served: Served[] = [];
  /** When it had best-effort work concurrent with it, and how much, in ms. */
  kept = 0;
  atMs = 0;
  alive = true;
  #shape: Shape;
  readonly #traffic: Traffic;
  readonly #costs: number;
  readonly #random: Random;
  #histograms: ReturnType<typeof histograms>;
  #nextMs: number;
  #running: Request[] = [];
  #waiting: Request[] = [];
  #chunkDueMs = 0;
  #steps: EngineStep[] = [];
  /** The step that ran last began; the next one was scheduled then where the engine schedules ahead. */
  #begunMs = 0;
  /** Not kept before anyone asks. */
  #values: Map<RequestKind, number[]> | undefined;
  #colocated = true;
  #promptSteps = 0;
  /** Time of the step that ends next which was seen as one of the step before. */
  #lateUs = 0;

  constructor(shape: Shape, traffic: Traffic, seed: number, costs = 1) {
    this.#shape = shape;
    this.#traffic = traffic;
    this.#costs = costs;
    this.#histograms = histograms(traffic.tells);
    this.#random = mulberry32(seed);
    this.#nextMs = this.#gap(0);
  }

  /** Counters begin again; requests are lost. */
  restart(): void {
    this.#histograms = histograms(this.#traffic.tells);
    this.#running = [];
    this.#waiting = [];
  }

  /** From the next step on it is another model, or the same in another state. */
  become(shape: Shape): void {
    this.#shape = shape;
  }

  /** Lets `requests` requests arrive now. `tokens`: the length of each. */
  flood(requests: number, tokens?: Tokens): void {
    for (let i = 0; i < requests; i++) this.#enqueue(this.atMs, tokens);
  }

  /** Lets it run until then, under these rules. `colocated`: best-effort work is there. */
  run(untilMs: number, rules: Rules, colocated = true): void {
    this.#colocated = colocated;
    while (this.atMs < untilMs) {
      this.#arrive();
      if (this.#running.length + this.#waiting.length === 0) {
        const to = Math.min(this.#nextMs, untilMs);
        if (colocated) this.kept += Math.max(0, to - this.atMs - rules.resumeDelayUs / 1000);
        this.atMs = to;
        this.#begunMs = to;
        continue;
      }
      this.#step(rules);
    }
  }

  /** The steps that ended since then, in ms. */
  steps(sinceMs: number): readonly EngineStep[] {
    this.#steps = this.#steps.filter(({ endMs }) => endMs > this.atMs - METERED_MS);
    return this.#steps.filter(({ endMs }) => endMs > sinceMs);
  }

  /** The agent's knowledge of its launches. */
  get rareBursts(): RareBursts | undefined {
    const { promptLaunches = 0 } = this.#shape;
    const afterLaunches = 2 * INPUT_LAUNCHES;
    if (promptLaunches <= afterLaunches || this.#promptSteps < MIN_PREFILL_STEPS) return undefined;
    return { afterLaunches, afterUs: 1000 * LAUNCH_MS * afterLaunches };
  }

  get batch(): number {
    return this.#running.length;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Each value since the last call, in us, as a program tells it of its requests. */
  takeValues(): ReadonlyMap<RequestKind, readonly number[]> {
    const values = this.#values;
    this.#values = new Map();
    return values ?? this.#values;
  }

  /** By name, each of one series. */
  histograms(): ReadonlyMap<string, HistogramSeries> {
    return new Map(
      [...this.#histograms].map(([, counted]) => [counted.name, new Map([["", counted.read()]])]),
    );
  }

  #gap(at: number): number {
    const { perS, burstiness } = this.#traffic;
    const mean = 1000 / perS(at / 1000);
    return at + mean * gamma(1 / burstiness ** 2, this.#random) * burstiness ** 2;
  }

  #arrive(): void {
    while (this.#nextMs <= this.atMs) {
      this.#enqueue(this.#nextMs);
      this.#nextMs = this.#gap(this.#nextMs);
    }
  }

  #enqueue(arrivedMs: number, tokens = this.#tokens()): void {
    const { prompt, output } = tokens;
    const { requests = 0, part = 0 } = this.#traffic.cached ?? {};
    const hit = requests > 0 && this.#random() < requests ? part : 0;
    const promptLeft = Math.max(1, Math.round(prompt * (1 - hit)));
    this.#waiting.push({
      ...{ arrivedMs, prompt, output },
      ...{ promptLeft, made: 0, firstMs: 0, lastMs: 0 },
    });
  }

  #tokens(): Tokens {
    const { like, prompt = DEFAULT_LENGTH, output = DEFAULT_LENGTH } = this.#traffic;
    const one = like?.[Math.floor(this.#random() * like.length)];
    if (one) return one;
    return {
      prompt: Math.min(6000, Math.max(1, Math.round(lognormal(prompt, this.#random)))),
      output: Math.min(2000, Math.max(2, Math.round(lognormal(output, this.#random)))),
    };
  }

  #step(rules: Rules): void {
    const { stepMs, perSequenceMs, perContextMs, perPromptTokenMs, gapMs } = this.#shape;
    const { mostSequences, batchTokens, cacheTokens, schedulesAhead = false } = this.#shape;
    const runs = this.#running.length > 0;
    const scheduledMs = schedulesAhead && runs ? this.#begunMs : this.atMs;
    let reserved = this.#running.reduce((sum, { prompt, output }) => sum + prompt + output, 0);
    while (this.#waiting.length > 0 && this.#running.length < mostSequences) {
      const [first] = this.#waiting;
      if (!first || first.arrivedMs > scheduledMs) break;
      reserved += first.prompt + first.output;
      if (reserved > cacheTokens && this.#running.length > 0) break;
      this.#running.push(first);
      this.#waiting.shift();
    }
    const decoding = this.#running.filter(({ promptLeft }) => promptLeft === 0);
    let budget = batchTokens - decoding.length;
    const ending: Request[] = [];
    let prefilled = 0;
    for (const request of this.#running) {
      if (request.promptLeft === 0 || budget <= 0) continue;
      const part = Math.min(budget, request.promptLeft);
      request.promptLeft -= part;
      budget -= part;
      prefilled += part;
      if (request.promptLeft === 0) ending.push(request);
    }
    const context = decoding.reduce((sum, { prompt, made }) => sum + prompt + made, 0);
    const work =
      stepMs +
      perSequenceMs * decoding.length +
      perContextMs * context +
      perPromptTokenMs * prefilled;
    const begunMs = this.atMs;
    this.#begunMs = begunMs;
    if (prefilled > 0) this.#promptSteps++;
    const slices = this.#pass(work * this.#coldness(), rules, prefilled > 0);
    const us = 1000 * (this.atMs - begunMs);
    const prefill = prefilled > 0 && this.rareBursts !== undefined;
    if (schedulesAhead && runs && prefilled > 0) this.#lookLate(us);
    this.#steps.push({ endMs: this.atMs, us: us - this.#lateUs, slices, prefill });
    this.#lateUs = 0;
    this.#idle(gapMs, rules);
    for (const request of decoding) {
      this.#count("itl", this.atMs - request.lastMs);
      this.#made(request);
    }
    for (const request of ending) {
      request.firstMs = this.atMs;
      this.#count("ttft", this.atMs - request.arrivedMs);
      this.#made(request);
    }
    this.#running = this.#running.filter(({ made, output }) => made < output);
  }

  /**
   * Its CPU launches the step that reads prompts before it looks at the results of the one before, whose end is seen late then
   * (test/data/vllm). `us`: of the step that reads prompts.
   */
  #lookLate(us: number): void {
    const before = this.#steps.pop();
    if (!before) return;
    this.#lateUs = Math.min(us / 2, 1000 * LAUNCH_MS * (this.#shape.promptLaunches ?? 0));
    const endMs = before.endMs + this.#lateUs / 1000;
    this.#steps.push({ ...before, endMs, us: before.us + this.#lateUs });
  }

  #coldness(): number {
    const { seconds = 0, times = 1 } = this.#shape.cold ?? {};
    return this.atMs < 1000 * seconds ? times : 1;
  }

  #made(request: Request): void {
    request.made++;
    request.lastMs = this.atMs;
    if (request.made < request.output) return;
    const { arrivedMs, firstMs, made } = request;
    const tpot = (this.atMs - firstMs) / (made - 1);
    const e2e = this.atMs - arrivedMs;
    this.#count("tpot", tpot);
    this.#count("e2e", e2e);
    this.served.push({ arrivedMs, ttft: firstMs - arrivedMs, tpot, e2e });
  }

  #count(kind: RequestKind, ms: number): void {
    const histogram = this.#histograms.get(kind);
    if (!histogram) return;
    histogram.observe(ms / 1000);
    const values = this.#values?.get(kind);
    if (values) values.push(1000 * ms);
    else this.#values?.set(kind, [1000 * ms]);
  }

  /** How long best-effort work goes on beside a step, in ms. */
  #youth({ coRunUntilUs, coRunUntilLaunches }: Rules, hasPrompt: boolean): number {
    if (coRunUntilUs === 0) return Number.POSITIVE_INFINITY;
    const { promptLaunches = 0 } = this.#shape;
    const told = hasPrompt && coRunUntilLaunches > 0 && coRunUntilLaunches < promptLaunches;
    const byAgeMs = coRunUntilUs / 1000;
    return told ? Math.min(byAgeMs, LAUNCH_MS * coRunUntilLaunches) : byAgeMs;
  }

  /** Runs work of the engine concurrently with best-effort work. Returns the slices of that. */
  #pass(workMs: number, rules: Rules, hasPrompt: boolean): number {
    const { coRunEveryUs, coRunSliceUs } = rules;
    let slices = 0;
    if (!this.#colocated) this.atMs += workMs;
    else if (coRunEveryUs > 0) {
      const oldAtMs = this.atMs + this.#youth(rules, hasPrompt);
      for (let left = workMs; left > 0; ) {
        const dueMs = Math.max(this.atMs, this.#chunkDueMs);
        const part = dueMs < oldAtMs ? Math.min(left, dueMs - this.atMs) : left;
        this.atMs += part;
        left -= part;
        if (left <= 0) break;
        this.#chunkDueMs = this.atMs + coRunEveryUs / 1000;
        this.atMs += this.#costs * (coRunSliceUs / 1000 + 2 * SWITCH_MS);
        this.kept += coRunSliceUs / 1000;
        slices++;
      }
    } else this.atMs += workMs;
    return slices;
  }

  /** The GPU idles between steps. */
  #idle(gapMs: number, { resumeDelayUs, chunkUs }: Rules): void {
    const free = gapMs - resumeDelayUs / 1000 - SWITCH_MS;
    if (!this.#colocated || free <= 0) {
      this.atMs += gapMs;
      return;
    }
    const chunks = Math.ceil(free / (chunkUs / 1000));
    this.kept += (chunks * chunkUs) / 1000;
    this.atMs += Math.max(gapMs, gapMs - free + (chunks * chunkUs) / 1000 + SWITCH_MS);
  }
}

const all = {
  ttft: ["vllm:time_to_first_token_seconds", TTFT_S],
  tpot: ["vllm:request_time_per_output_token_seconds", TOKEN_S],
  itl: ["vllm:inter_token_latency_seconds", TOKEN_S],
  e2e: ["vllm:e2e_request_latency_seconds", REQUEST_S],
} as const;

const histograms = (tells: readonly RequestKind[] = requestKinds) =>
  new Map(tells.map((kind) => [kind, new Counted(all[kind][0], all[kind][1])] as const));

function lognormal({ mean, cv }: { mean: number; cv: number }, random: Random): number {
  if (cv === 0) return mean;
  const sigma = Math.sqrt(Math.log1p(cv * cv));
  return mean * Math.exp(sigma * normal(random) - (sigma * sigma) / 2);
}

const normal = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** Marsaglia and Tsang, A simple method for generating gamma variables, 2000; for shapes below 1 by a power. */
function gamma(shape: number, random: Random): number {
  if (shape === 1) return -Math.log(1 - random());
  if (shape < 1) return gamma(shape + 1, random) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = normal(random);
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < (x * x) / 2 + d - d * v + d * Math.log(v)) return d * v;
  }
}
