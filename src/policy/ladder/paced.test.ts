import { describe, expect, test } from "vitest";
import { gammas, millis, mulberry32 } from "#core";
import type { Memory } from "../contract/policy.ts";
import { cotenant } from "../policies/cotenant.ts";
import type { EngineStep } from "../requests/engine-step.ts";
import { type LimitsUs, type RequestCounts, requestLimits } from "../requests/requests.ts";

const DECODE_US = 5000;
const SLICE_COST_US = 2700;
const TOKENS = 128;
const LOOK_MS = 250;
/** The end of a step before one that reads prompts is seen so late: the CPU launches that one first. */
const LATE_US = 5000;

interface Request {
  readonly arrivedUs: number;
  readonly ttftUs: number;
  tpotUs: number;
}

/** An engine that queues ahead: a request waits for the step that runs and the next, then its prompt is read. */
class Engine {
  readonly done: Request[] = [];
  readonly #random = mulberry32(7);
  readonly #promptUs = gammas(1, this.#random);
  readonly #perS: number;
  readonly #tokensPerStep: number;
  #waiting: { arrivedUs: number }[] = [];
  #running: { request: Request; firstUs: number; left: number }[] = [];
  #nowUs = 0;
  #nextUs = 0;
  #sliceUs = 0;
  slices = 0;

  constructor(perS: number, tokensPerStep = 1) {
    this.#perS = perS;
    this.#tokensPerStep = tokensPerStep;
  }

  run(untilUs: number, everyUs: number, untilLaunches: number): EngineStep[] {
    const steps: EngineStep[] = [];
    while (this.#nowUs < untilUs) {
      for (
        ;
        this.#nextUs <= this.#nowUs;
        this.#nextUs -= (Math.log(this.#random()) / this.#perS) * 1e6
      )
        this.#waiting.push({ arrivedUs: this.#nextUs });
      const prompt = this.#waiting[0];
      if (!prompt && this.#running.length === 0) {
        this.#nowUs = this.#nextUs;
        continue;
      }
      const begin = this.#nowUs;
      const prefill = prompt !== undefined;
      let left = prefill ? 8000 + 9000 * this.#promptUs() : DECODE_US;
      let slices = 0;
      const beside = everyUs > 0 && !(prefill && untilLaunches > 0);
      while (left > 0) {
        const dueUs = beside
          ? Math.max(this.#nowUs, this.#sliceUs + everyUs)
          : Number.POSITIVE_INFINITY;
        const ran = Math.min(left, dueUs - this.#nowUs);
        left -= ran;
        this.#nowUs += ran;
        if (left <= 0) break;
        this.#sliceUs = this.#nowUs;
        this.#nowUs += SLICE_COST_US;
        slices++;
      }
      this.slices += slices;
      const before = prefill && this.#running.length > 0 ? steps.pop() : undefined;
      const lateUs = before ? LATE_US : 0;
      if (before)
        steps.push({ ...before, endMs: before.endMs + lateUs / 1e3, us: before.us + lateUs });
      const us = this.#nowUs - begin - lateUs;
      steps.push({ endMs: this.#nowUs / 1e3, us, slices, prefill });
      for (const one of this.#running) one.left -= this.#tokensPerStep;
      for (const { request, firstUs } of this.#running.filter(({ left }) => left <= 0)) {
        request.tpotUs = (this.#nowUs - firstUs) / (TOKENS - 1);
        this.done.push(request);
      }
      this.#running = this.#running.filter(({ left }) => left > 0);
      if (!prompt) continue;
      this.#waiting.shift();
      const request = {
        arrivedUs: prompt.arrivedUs,
        ttftUs: this.#nowUs - prompt.arrivedUs,
        tpotUs: 0,
      };
      this.#running.push({ request, firstUs: this.#nowUs, left: TOKENS - 1 });
    }
    return steps;
  }
}

interface Options {
  readonly perS: number;
  readonly seconds: number;
  readonly limits: LimitsUs;
  /** In force after half of the time. */
  readonly later?: LimitsUs;
  /** Fixed; undefined: by the policy. */
  readonly everyUs?: number;
  readonly tokensPerStep?: number;
  /** Its steps are not seen. */
  readonly stepless?: boolean;
}

function play({
  stepless,
  perS,
  seconds,
  limits: first,
  later,
  everyUs: fixed,
  tokensPerStep,
}: Options) {
  const engine = new Engine(perS, tokensPerStep);
  let memory: Memory | undefined;
  const periods: number[] = [];
  let seen = 0;
  for (let at = LOOK_MS; at <= seconds * 1000; at += LOOK_MS) {
    const limits = later && at > 500 * seconds ? later : first;
    const rareBursts = { afterLaunches: 100, afterUs: 2000 };
    const high = { name: "engine", burstP50Us: DECODE_US, rareBursts };
    const rules = cotenant.rules({ isolated: true, high: [high] }, memory);
    const everyUs = fixed ?? rules.coRunEveryUs;
    periods.push(everyUs);
    const steps = engine.run(
      at * 1000,
      everyUs,
      fixed === undefined ? rules.coRunUntilLaunches : 0,
    );
    const ended = engine.done.slice(seen);
    seen = engine.done.length;
    const counts = (
      of: (request: Request) => number,
      limit = Number.POSITIVE_INFINITY,
    ): RequestCounts => {
      const each = ended.map(of);
      return {
        values: each.length,
        above: each.filter((us) => us > limit).length,
        near: 0,
        sumUs: each.reduce((sum, us) => sum + us, 0),
        each,
      };
    };
    const requests = {
      ttft: counts(({ ttftUs }) => ttftUs, limits.ttft),
      tpot: counts(({ tpotUs }) => tpotUs, limits.tpot),
    };
    memory = cotenant.remember?.(
      {
        isolated: true,
        nowMs: millis(at),
        colocated: true,
        high: [
          {
            ...{ id: "engine", ...high, ended: undefined, requests },
            steps: stepless ? undefined : steps,
            objective: { p99Us: undefined, slowdown: undefined, requests: requestLimits(limits) },
          },
        ],
      },
      memory,
    );
  }
  const late = engine.done.filter(({ arrivedUs }) => arrivedUs > 15e6);
  const p99 = (of: (request: Request) => number) =>
    late.map(of).toSorted((a, b) => a - b)[Math.ceil(0.99 * late.length) - 1] ?? 0;
  return {
    ttftUs: p99(({ ttftUs }) => ttftUs),
    tpotUs: p99(({ tpotUs }) => tpotUs),
    slicesPerS: engine.slices / seconds,
    begins: periods.findIndex((us) => us > 0) * (LOOK_MS / 1000),
    periods,
    memory,
  };
}

const alone = (perS: number) => play({ perS, seconds: 120, limits: {}, everyUs: 0 });

describe.each([4, 12])("beside an engine with %i requests a second", (perS) => {
  const solo = alone(perS);
  const limits = { ttft: 2 * solo.ttftUs, tpot: 1.5 * solo.tpotUs };
  const paced = play({ perS, seconds: 150, limits });

  test("both p99 stay within their limits", () => {
    expect(paced.ttftUs).toBeLessThanOrEqual(limits.ttft);
    expect(paced.tpotUs).toBeLessThanOrEqual(limits.tpot);
  });

  test("slices come nearly as often as with the best fixed period that holds them", () => {
    const fixed = [4000, 5000, 6000, 7000, 8000, 10_000, 14_000, 20_000, 40_000]
      .map((everyUs) => play({ perS, seconds: 150, limits, everyUs }))
      .filter(({ ttftUs, tpotUs }) => ttftUs <= limits.ttft && tpotUs <= limits.tpot);
    const best = Math.max(...fixed.map(({ slicesPerS }) => slicesPerS));
    expect(paced.slicesPerS).toBeGreaterThanOrEqual(0.8 * best);
  });

  test("they begin within 15 s", () => {
    expect(paced.begins).toBeGreaterThan(0);
    expect(paced.begins).toBeLessThanOrEqual(15);
  });
});

test("an engine whose steps are not seen gets no slices, and that is told", () => {
  const { periods, memory } = play({
    perS: 4,
    seconds: 40,
    limits: { tpot: 9000 },
    stepless: true,
  });
  expect(new Set(periods)).toEqual(new Set([0]));
  expect(memory?.clients.get("engine")?.stepless).toBe(true);
});

test("slices end at once with the objective that they were found for", () => {
  const { periods } = play({
    perS: 4,
    seconds: 120,
    limits: { tpot: 9000 },
    later: { tpot: 5100 },
  });
  const changedAt = 60_000 / LOOK_MS;
  expect(periods[changedAt - 1]).toBeGreaterThan(0);
  expect(new Set(periods.slice(changedAt + 1))).toEqual(new Set([0]));
});

test("a limit that the engine alone does not meet gets no slices, and its kind is named", () => {
  const { slicesPerS, memory } = play({ perS: 4, seconds: 60, limits: { tpot: 4000 } });
  expect(slicesPerS).toBe(0);
  expect(memory?.clients.get("engine")).toMatchObject({ tightest: "tpot", mostStretch: 1 });
});

test("an engine that makes three tokens in a step is paced by its tokens, not by its steps", () => {
  const tpot = 4000;
  const { tpotUs, slicesPerS } = play({
    perS: 4,
    seconds: 150,
    limits: { tpot },
    tokensPerStep: 3,
  });
  expect(slicesPerS).toBeGreaterThan(20);
  expect(tpotUs).toBeLessThanOrEqual(tpot);
});
