// How fast `cotenant` finds what an objective leaves, and what looking for it costs: the jobs recorded on an H200, a
// minute from the start under slowdown=10%, beside the same minute under `strict`; and a step of load.
// `npx tsx bench/model/climb.ts`
import { type Arrangement, arrangementNamed, gatedBy, modelOf, planOf, runWindow } from "#gpu";
import { type Memory, policyNamed } from "#policy";
import { readProfileFile } from "#profile";
import { poisson } from "./jobs.ts";
import { figuresOf, save } from "./windows.ts";

const PROFILES = "bench/profiles/h200";
const LOAD = 0.2;
const SECONDS = 60;
/** The part that counts for the figures: by then the level is found. */
const LAST_SECONDS = 20;
const SLOWDOWN = 0.1;
const STEP = { low: 0.1, high: 0.6, atSeconds: 40, slowdown: 0.4 } as const;
const TRAINING_SLOWDOWN = 0.15;
const gpu = modelOf("H200");

const job = (name: string) =>
  ({
    profile: readProfileFile(`${PROFILES}/${name}.json`),
    submission: name.endsWith("-graph") ? "graph" : "kernels",
  }) as const;

/** With the moments at which each level was first in force. */
function watched() {
  const policy = policyNamed("cotenant");
  const reached: number[] = [];
  const remember: typeof policy.remember = (look, memory) => {
    const now = policy.remember?.(look, memory) as Memory;
    reached[now.level] ??= look.nowMs / 1000;
    return now;
  };
  return { policy: { ...policy, remember }, reached };
}

const SEED = 1;

function play(
  [high = "", bestEffort = ""]: readonly string[],
  mode: "isolated" | "mps",
  arrivalsNs: readonly number[],
  slowdown: number,
) {
  const jobs = { bestEffort: [job(bestEffort)], seconds: SECONDS, gpu, seed: SEED };
  const objective = { p99Us: undefined, slowdown };
  const { policy, reached } = watched();
  const windows = {
    strict: runWindow({
      ...jobs,
      arrangement: arrangementNamed(`strict-${mode}`),
      high: { ...job(high), arrivalsNs },
    }),
    cotenant: runWindow({
      ...jobs,
      arrangement: gatedBy("cotenant", policy, mode),
      high: { ...job(high), arrivalsNs, objective },
    }),
  };
  // Alone in the same mode, as the policy sees it in its pause.
  const solo = runWindow({
    ...jobs,
    arrangement: { ...arrangementNamed(`strict-${mode}`), bestEffort: false },
    high: { ...job(high), arrivalsNs },
  });
  return { windows, reached, solo };
}

const pairs = ["resnet50-graph", "resnet50-eager", "bert-graph"].flatMap((high) =>
  ["resnet50-train", "bert-train", "gpt2-train"].map((training) => [high, training] as const),
);

const ratePerS = (name: string, load: number) =>
  (load * 1e9) / planOf(job(name).profile, gpu, job(name).submission).soloNs;

const rows = pairs.flatMap((pair) =>
  (["isolated", "mps"] as const).map((mode) => {
    const arrivals = poisson(ratePerS(pair[0], LOAD), SECONDS, SEED);
    const { windows, reached, solo } = play(pair, mode, arrivals, SLOWDOWN);
    const alone = runWindow({
      arrangement: arrangementNamed("alone"),
      bestEffort: [job(pair[1])],
      seconds: 5,
      gpu,
    });
    const perS = figuresOf(alone).perS[0] ?? 1;
    const limitNs = (1 + SLOWDOWN) * 1e6 * figuresOf(solo).burstP99Ms;
    const late = (of: typeof solo) => {
      const settledNs = of.endNs - LAST_SECONDS * 1e9;
      const requests = of.requests.filter(({ arrivalNs }) => arrivalNs >= settledNs);
      const figures = figuresOf({ ...of, settledNs, requests });
      return {
        kept: (figures.perS[0] ?? 0) / perS,
        burstP99: figures.burstP99Ms / figuresOf(solo).burstP99Ms,
        aboveInAll:
          of.requests.filter(({ serviceNs }) => serviceNs > limitNs).length / of.requests.length,
      };
    };
    const row = {
      pair: pair.join("+"),
      mode,
      strict: late(windows.strict),
      cotenant: late(windows.cotenant),
      level: windows.cotenant.level,
      reachedSeconds: reached,
    };
    const text = ({ kept, burstP99, aboveInAll }: ReturnType<typeof late>) =>
      `kept ${(100 * kept).toFixed(1)} % p99 ${burstP99.toFixed(2)} above ${(100 * aboveInAll).toFixed(2)} %`;
    console.log(
      `${row.pair.padEnd(30)} ${mode.padEnd(8)} strict ${text(row.strict)}  cotenant ${text(row.cotenant)}  level ${row.level}, reached at ${reached.map((s, i) => `${i}: ${s.toFixed(1)}`).join(", ")}`,
    );
    return row;
  }),
);

/** Chance alone makes more than 1 % of the few hundred bursts of a second. */
const BROKEN = 0.03;

/** Seconds after the step in which more than this many were above. */
function brokenSeconds(window: Parameters<typeof figuresOf>[0], limitNs: number): number {
  const fromNs = window.startNs + STEP.atSeconds * 1e9;
  const broken = Array.from({ length: SECONDS - STEP.atSeconds }, (_, i) => {
    const [from, to] = [fromNs + i * 1e9, fromNs + (i + 1) * 1e9];
    const here = window.requests.filter(({ arrivalNs }) => arrivalNs >= from && arrivalNs < to);
    return here.filter(({ serviceNs }) => serviceNs > limitNs).length > BROKEN * here.length;
  });
  return broken.filter(Boolean).length;
}

const steps = pairs.flatMap((pair) =>
  (["isolated", "mps"] as const).map((mode) => {
    const before = poisson(ratePerS(pair[0], STEP.low), STEP.atSeconds, SEED);
    const after = poisson(ratePerS(pair[0], STEP.high), SECONDS - STEP.atSeconds, SEED + 1);
    const arrivals = [...before, ...after.map((ns) => ns + STEP.atSeconds * 1e9)];
    const { windows, solo } = play(pair, mode, arrivals, STEP.slowdown);
    const limitNs = (1 + STEP.slowdown) * 1e6 * figuresOf(solo).burstP99Ms;
    const row = {
      pair: pair.join("+"),
      mode,
      strictBrokenSeconds: brokenSeconds(windows.strict, limitNs),
      brokenSeconds: brokenSeconds(windows.cotenant, limitNs),
    };
    console.log(
      `${row.pair.padEnd(30)} ${mode.padEnd(8)} step: broken for ${row.brokenSeconds} of ${SECONDS - STEP.atSeconds} s (strict ${row.strictBrokenSeconds} s)`,
    );
    return row;
  }),
);
/** Two trainings: the objective is about throughput, and one level after another is given five seconds of it. */
const trainings = (["isolated", "mps"] as const).map((mode) => {
  const [high, bestEffort] = [job("bert-train"), [job("resnet50-train")]];
  const of = (arrangement: Arrangement, objective?: { readonly slowdown: number }) => {
    const window = runWindow({
      arrangement,
      high: { ...high, ...(objective && { objective: { p99Us: undefined, ...objective } }) },
      bestEffort,
      seconds: SECONDS,
      gpu,
    });
    const settledNs = window.endNs - LAST_SECONDS * 1e9;
    const requests = window.requests.filter(({ arrivalNs }) => arrivalNs >= settledNs);
    const { highPerS, perS } = figuresOf({ ...window, settledNs, requests });
    return { high: highPerS, bestEffort: perS[0] ?? 0 };
  };
  const { policy, reached } = watched();
  const shared = of(gatedBy("cotenant", policy, mode), { slowdown: TRAINING_SLOWDOWN });
  const besides = of(arrangementNamed("mps-priority"));
  const solo = of(arrangementNamed("solo")).high;
  const alone = of(arrangementNamed("alone")).bestEffort;
  const ratios = (one: typeof shared) => ({
    high: one.high / solo,
    bestEffort: one.bestEffort / alone,
  });
  const row = {
    pair: "bert-train+resnet50-train",
    mode,
    slowdown: TRAINING_SLOWDOWN,
    cotenant: ratios(shared),
    mpsPriority: ratios(besides),
    reachedSeconds: reached,
  };
  console.log(JSON.stringify(row));
  return row;
});
save("model-climb", {
  load: LOAD,
  seconds: SECONDS,
  slowdown: SLOWDOWN,
  step: STEP,
  rows,
  steps,
  trainings,
});
