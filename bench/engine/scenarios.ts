// Engines, traffic and objectives for bench/engine/virtual.ts.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { mulberry32, quantile } from "#core";
import { fitted, played, type Run, recorded, type Shape, type Traffic } from "#llm-model";
import type { RequestKind, RequestLimits } from "#policy";
import { fast, h100, large, lengths } from "../../test/policy/engine/shapes.ts";

const profiles = join(import.meta.dirname, "../profiles");

export interface Scenario {
  readonly name: string;
  readonly run: Omit<Run, "seed" | "limits" | "seconds">;
  /** In us; takes a run of the engine alone. */
  readonly limits: () => RequestLimits;
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

/** An engine and traffic at random, loaded so that it does not run full. Every fourth has no CUDA graphs. */
export function anyEngine(seed: number): Scenario {
  const random = mulberry32(seed);
  const between = (least: number, most: number) => least * (most / least) ** random();
  const stepMs = between(6, 80);
  const prompt = { mean: between(100, 2500), cv: between(0.3, 1.5) };
  const output = { mean: between(24, 400), cv: random() < 0.3 ? 0 : between(0.3, 1.2) };
  const shape = {
    ...large,
    ...{
      stepMs,
      perSequenceMs: stepMs * between(0.004, 0.015),
      perPromptTokenMs: between(0.015, 0.1),
      promptLaunches: seed % 4 === 0 ? undefined : large.promptLaunches,
    },
  };
  const batch = between(2, 24);
  const secondsEach =
    (prompt.mean * shape.perPromptTokenMs + (output.mean * stepMs) / batch) / 1000;
  const traffic = { ...always(0.7 / secondsEach), burstiness: between(0.7, 2), prompt, output };
  return scenario(`random ${seed}`, shape, traffic);
}

const designed = [
  scenario("H100, 0.65/s", h100, always(0.65)),
  scenario("H100, 1.6/s", h100, always(1.6)),
  scenario("H100, 2.4/s", h100, always(2.4)),
  scenario("8 ms steps, 3/s", fast, always(3)),
  scenario("8 ms steps, 10/s", fast, always(10)),
];

/** Held out while the first version of the policy was made, and looked at since. */
const others = [
  scenario("H200, 2.6/s", large, always(2.6)),
  scenario("H100, cold for 4 s, 1.6/s", { ...h100, cold }, always(1.6)),
  scenario("80 ms steps, 0.7/s", slow, always(0.7)),
  scenario("H100, prompts of 2000, 0.6/s", h100, { ...always(0.6), prompt: { mean: 2000, cv: 1 } }),
  scenario("H100, prompts all of 512, 1.6/s", h100, {
    ...always(1.6),
    prompt: { mean: 512, cv: 0 },
  }),
  scenario("H100, answers of 32, 4/s", h100, { ...always(4), output: { mean: 32, cv: 1 } }),
  scenario("H100, answers of 400, 0.6/s", h100, { ...always(0.6), output: { mean: 400, cv: 1 } }),
  scenario("H100, bursts of arrivals, 1/s", h100, { ...always(1), burstiness: 2.5 }),
  scenario("H100, 0.65 then 2.4/s each minute", h100, {
    perS: (s) => (Math.floor(s / 60) % 2 === 0 ? 0.65 : 2.4),
  }),
  scenario(
    "pictures of 30 steps, 0.25/s",
    diffusion,
    { ...always(0.25), prompt: { mean: 1, cv: 0 }, output: { mean: 30, cv: 0 }, tells: ["e2e"] },
    { e2e: 1.5 },
  ),
  ...[1, 2, 3, 4, 5, 6].map(anyEngine),
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

/** Limits near what the engine takes alone, as a short measurement of it may state them, and far above it. */
const stated = [
  scenario("H100, 1.6/s, TTFT 1.7 and TPOT 1.5 times", h100, always(1.6), { ttft: 1.7, tpot: 1.5 }),
  scenario("H100, 1.6/s, TTFT 1.3 and TPOT 1.25 times", h100, always(1.6), {
    ttft: 1.3,
    tpot: 1.25,
  }),
  scenario("H100, 0.65/s, TTFT 1.5 and TPOT 1.3 times", h100, always(0.65), {
    ttft: 1.5,
    tpot: 1.3,
  }),
  scenario("H100, 2.4/s, TTFT 1.5 and TPOT 1.5 times", h100, always(2.4), { ttft: 1.5, tpot: 1.5 }),
  scenario("H100, 1.6/s, TTFT 4 and TPOT 2 times", h100, always(1.6), { ttft: 4, tpot: 2 }),
];

/** Random engines 7 to 14 were run a few times while the policy was made, 15 to 22 once before its last constant, LATE_BY_WINDOWS, was halved because of them (docs/design/decisions/0016). */
const heldOut = Array.from({ length: 16 }, (_, i) => anyEngine(7 + i));

export const scenarios: readonly Scenario[] = [
  ...designed,
  ...others,
  ...stated,
  ...heldOut,
  ...recordings,
];
