// Engines, traffic and objectives for bench/engine/virtual.ts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mulberry32, quantile } from "#core";
import { fitted, mostPerS, played, type Run, recorded, type Shape, type Traffic } from "#llm-model";
import type { LimitsUs, RequestKind } from "#policy";
import { fast, h100, large, lengths, vllm } from "../../test/policy/engine/shapes.ts";

const profiles = join(import.meta.dirname, "../profiles");

export interface Scenario {
  readonly name: string;
  readonly run: Omit<Run, "seed" | "limits" | "seconds">;
  /** In us; takes a run of the engine alone. */
  readonly limits: () => LimitsUs;
}

/** Objectives are these times the p99 that the engine has alone, in a run that is measured for nothing else. */
type Factors = Readonly<Partial<Record<Exclude<RequestKind, "itl">, number>>>;
const usual: Factors = { ttft: 2, tpot: 1.5 };
const ALONE = { seconds: 3000, seed: 99 } as const;

const scenario = (
  name: string,
  shape: Shape,
  traffic: Partial<Traffic> & Pick<Traffic, "perS">,
  factors: Factors = usual,
): Scenario => {
  const run = { shape, traffic: { ...lengths, ...traffic } };
  const limits = () => {
    const { served } = played({ ...run, ...ALONE, limits: {}, fixed: "alone" });
    const limit = (kind: keyof Factors, factor: number) =>
      1000 *
      factor *
      quantile(
        served.map((one) => one[kind]),
        0.99,
      );
    return Object.fromEntries(
      Object.entries(factors).map(([kind, factor]) => [kind, limit(kind as keyof Factors, factor)]),
    );
  };
  return { name, run, limits };
};

const always = (perS: number) => ({ perS: () => perS });
const slow: Shape = { ...h100, stepMs: 80, perSequenceMs: 0.5, perPromptTokenMs: 0.2 };
const cold = { seconds: 4, times: 5 } as const;
/** One picture at a time, 30 steps each. It tells whole requests only. */
const diffusion: Shape = {
  ...h100,
  ...{
    stepMs: 60,
    perSequenceMs: 0,
    perContextMs: 0,
    perPromptTokenMs: 0,
    gapMs: 1,
    mostSequences: 1,
    promptLaunches: undefined,
  },
};

/**
 * An engine, its traffic and its objectives at random, loaded so that it does not run full. Ranges as of models of 3 to 70 B
 * parameters on one to eight GPUs of the last years; one in four has no CUDA graphs, so its launches tell nothing of a step.
 */
export function anyEngine(seed: number): Scenario {
  const random = mulberry32(seed);
  const between = (least: number, most: number) => least * (most / least) ** random();
  const stepMs = between(4, 60);
  const schedulesAhead = random() < 0.6;
  const prompt = { mean: between(100, 2500), cv: between(0.3, 1.5) };
  const output = { mean: between(32, 400), cv: random() < 0.3 ? 0 : between(0.3, 1.2) };
  const shape: Shape = {
    stepMs,
    schedulesAhead,
    perSequenceMs: stepMs * between(0.002, 0.015),
    perContextMs: stepMs * between(2e-6, 1e-5),
    perPromptTokenMs: stepMs * between(0.001, 0.006),
    gapMs: schedulesAhead ? 0 : stepMs * 0.15 * random(),
    mostSequences: 64 << Math.floor(3 * random()),
    batchTokens: 512 << Math.floor(5 * random()),
    cacheTokens: Math.round(between(40_000, 400_000)),
    promptLaunches: random() < 0.25 ? undefined : large.promptLaunches,
  };
  const perS = between(0.15, 0.8) * mostPerS(shape, [{ prompt: prompt.mean, output: output.mean }]);
  const cached = random() < 0.3 ? { requests: 0.5, part: 0.7 } : { requests: 0, part: 0 };
  const traffic = { ...always(perS), burstiness: between(0.7, 2), prompt, output, cached };
  const factors = { ttft: between(1.5, 3), tpot: between(1.25, 2) };
  return scenario(`random ${seed}`, shape, traffic, factors);
}

const designed = [
  ...[2, 4, 12, 30].map((perS) => scenario(`vLLM 8B, ${perS}/s`, vllm, always(perS))),
  scenario("vLLM 8B, 4/s, TTFT 1.5 and TPOT 1.3 times", vllm, always(4), { ttft: 1.5, tpot: 1.3 }),
  scenario("vLLM 8B, half of the prompts cached, 12/s", vllm, {
    ...always(12),
    cached: { requests: 0.5, part: 0.7 },
  }),
  scenario("vLLM 8B, 4 then 16/s each minute", vllm, {
    perS: (s) => (Math.floor(s / 60) % 2 === 0 ? 4 : 16),
  }),
  scenario("transformers 8B, 1.6/s", h100, always(1.6)),
  scenario("transformers 8B, cold for 4 s, 1.6/s", { ...h100, cold }, always(1.6)),
  scenario("transformers 8B, prompts of 2000, 0.6/s", h100, {
    ...always(0.6),
    prompt: { mean: 2000, cv: 1 },
  }),
  scenario("transformers 8B, bursts of arrivals, 1/s", h100, { ...always(1), burstiness: 2.5 }),
  scenario("8 ms steps, 10/s", fast, always(10)),
  scenario("80 ms steps, 0.7/s", slow, always(0.7)),
  scenario(
    "pictures of 30 steps, 0.25/s",
    diffusion,
    { ...always(0.25), prompt: { mean: 1, cv: 0 }, output: { mean: 30, cv: 0 }, tells: ["e2e"] },
    { e2e: 1.5 },
  ),
];

/** Engines as `cotenant load-llm --each` recorded them, served again at the same rate. */
function recordedEngine(name: string, file: string): Scenario {
  const path = join(profiles, file);
  const { requests, tokens, perS = Number.NaN } = recorded(readFileSync(path, "utf8"), path);
  const shape = fitted(requests, {
    ...{ gapMs: 1.5, batchTokens: 1024, mostSequences: 64, cacheTokens: 65_536 },
    promptLaunches: large.promptLaunches,
  });
  if (!shape) throw new Error(`${path} tells too little`);
  return scenario(name, shape, { ...always(perS), like: tokens });
}

const recordings = [
  recordedEngine("H200, Llama 8B recorded, 1.6/s", "h200/llama-3.1-8b.jsonl"),
  recordedEngine("H200, Llama 1B recorded, 3.5/s", "h200/llama-3.2-1b.jsonl"),
  recordedEngine("H100, Llama 8B recorded, 1.6/s", "h100/llama-3.1-8b.jsonl"),
];

export const scenarios: readonly Scenario[] = [...designed, ...recordings];
