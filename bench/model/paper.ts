// Orion's evaluation (EuroSys'24, section 6) on the modelled V100: its published profiles, Table 3's rates, the
// Apollo trace. `npx tsx bench/model/paper.ts [EXPERIMENT…]` prints tables and writes a result file each.
//
// Kernels take what the profiles say, scaled to Table 4's iterations a second where that is given; a request
// takes the sum of its kernels, because the paper prints no latency of a dedicated GPU.

import { arrangementNamed, modelOf, planOf, runWindow, type WindowPlan } from "#gpu";
import { rate } from "#measure";
import {
  apollo,
  hasProfiles,
  inference,
  type Model,
  models,
  poisson,
  requestsPerS,
  training,
  uniform,
  visionModels,
} from "./jobs.ts";
import { type Figures, figuresOf, mean, save } from "./windows.ts";

/** A compromise between the p99 of a pair and the time that all pairs take. */
const REQUESTS = 300;
const secondsFor = (perS: number): number => Math.min(25, Math.max(12, REQUESTS / perS));

const figures = (arrangement: string, plan: Omit<WindowPlan, "arrangement">): Figures =>
  figuresOf(runWindow({ arrangement: arrangementNamed(arrangement), ...plan }));

type Plan = Omit<WindowPlan, "arrangement">;

interface Row {
  readonly arrangement: string;
  /** To alone on the GPU, the mean over pairs. */
  readonly p99: number;
  readonly p95: number;
  readonly p50: number;
  /** The worst of the pairs' p99. */
  readonly worst: number;
  /** Mean retained throughput of the best-effort jobs. */
  readonly retained: number;
  readonly pairs: readonly {
    readonly jobs: readonly string[];
    readonly p99: number;
    /** To the burst, of the slowest in a hundred. */
    readonly addedP99Ms: number;
  }[];
}

/** Plays a pair in an arrangement; the same again costs nothing. */
function played(arrangement: string, plan: Plan) {
  const known = windows.get(plan) ?? new Map<string, Figures>();
  windows.set(plan, known);
  const found = known.get(arrangement) ?? figures(arrangement, plan);
  known.set(arrangement, found);
  return found;
}
const windows = new Map<Plan, Map<string, Figures>>();

/** Each plan in each arrangement, against the same jobs alone. */
function table(plans: readonly Plan[], arrangements: readonly string[]) {
  return arrangements.map((arrangement): Row => {
    const of = plans.map((plan) => {
      const window = played(arrangement, plan);
      const solo = played("solo", plan);
      return {
        p50: window.latencyP50Ms / solo.latencyP50Ms,
        p95: window.latencyP95Ms / solo.latencyP95Ms,
        p99: window.latencyP99Ms / solo.latencyP99Ms,
        retained: mean(window.perS.map((perS, job) => perS / alonePerS(plan, job))),
        jobs: [plan.high, ...plan.bestEffort].map((job) => job?.profile.name ?? ""),
        addedP99Ms: window.burstP99Ms - solo.burstP99Ms,
      };
    });
    const ratio = (name: "p50" | "p95" | "p99" | "retained") => mean(of.map((one) => one[name]));
    const row = {
      arrangement,
      p50: ratio("p50"),
      p95: ratio("p95"),
      p99: ratio("p99"),
      worst: Math.max(...of.map(({ p99 }) => p99)),
      retained: ratio("retained"),
      pairs: of.map(({ jobs, p99, addedP99Ms }) => ({ jobs, p99, addedP99Ms })),
    };
    console.log(
      `${arrangement.padEnd(48)} p50 ${row.p50.toFixed(2)} p95 ${row.p95.toFixed(2)} p99 ${row.p99.toFixed(2)} (worst ${row.worst.toFixed(2)}) kept ${(100 * row.retained).toFixed(0)} %`,
    );
    return row;
  });
}

/** A training's by Table 4; of inference what it is asked for. */
function alonePerS({ bestEffort, seconds }: Plan, job: number): number {
  const { profile, arrivalsNs } = bestEffort[job] ?? {};
  return arrivalsNs ? arrivalsNs.length / seconds : 1e9 / (profile?.soloNs ?? Number.NaN);
}

const pairs = <T>(high: readonly T[], bestEffort: readonly Model[]) =>
  high.flatMap((one) => bestEffort.map((other) => [one, other] as const));

const plans = new Map<string, Plan>();

/** The same plan each time. */
function besideTraining(high: Model, other: Model, arrivals: "apollo" | "poisson"): Plan {
  const key = [high, other, arrivals].join();
  const plan = plans.get(key) ?? planBesideTraining(high, other, arrivals);
  plans.set(key, plan);
  return plan;
}

function planBesideTraining(high: Model, other: Model, arrivals: "apollo" | "poisson"): Plan {
  const perS = requestsPerS[high].besideTraining;
  const seconds = arrivals === "apollo" ? 20 : secondsFor(perS);
  const arrivalsNs = arrivals === "apollo" ? apollo(seconds) : poisson(perS, seconds, 1);
  return { high: { ...inference(high), arrivalsNs }, bestEffort: [training(other)], seconds };
}

function besideInference(
  high: Model,
  others: readonly Model[],
  arrivals: "apollo" | "poisson",
): Plan {
  const perS = requestsPerS[high];
  const seconds = arrivals === "apollo" ? 20 : secondsFor(perS.poisson);
  const arrivalsNs = arrivals === "apollo" ? apollo(seconds) : poisson(perS.poisson, seconds, 1);
  const bestEffort = others.map((other, i) => ({
    ...inference(other),
    arrivalsNs:
      arrivals === "apollo"
        ? uniform(requestsPerS[other].uniform, seconds)
        : poisson(requestsPerS[other].poisson, seconds, 2 + i),
  }));
  return { high: { ...inference(high), arrivalsNs }, bestEffort, seconds };
}

const gated = ["reef-mps", "orion-mps", "strict-mps"];
const baselines = ["temporal", "streams", "mps"];

/** Orion with nothing beside a request: what it then pays was begun before. */
const ALONE_WHEN_ACTIVE = "orion-mps:smLimit=0";

/** Figures 6 and 7. */
function infTrain() {
  return (["poisson", "apollo"] as const).map((arrivals) => {
    console.log(`inf-train, ${arrivals}`);
    const high = arrivals === "apollo" ? visionModels : models;
    const plans = pairs<Model>(high, models).map(([one, other]) =>
      besideTraining(one, other, arrivals),
    );
    const rows = table(plans, [...baselines, ...gated, ALONE_WHEN_ACTIVE]);
    return { arrivals, pairs: plans.length, rows };
  });
}

/**
 * Figure 6 with requests that take twice the sum of their kernels, as those of the paper seem to: section 6.4 has 23 ms
 * where ResNet101's kernels sum to 11.
 */
function longerRequests() {
  const plans = pairs<Model>(visionModels, models).map(([one, other]): Plan => {
    const { high, ...plan } = planBesideTraining(one, other, "apollo");
    if (!high) throw new Error("a plan without a high job");
    const { soloNs } = planOf(high.profile, modelOf("V100"), high.submission);
    return { ...plan, high: { ...high, profile: { ...high.profile, soloNs: 2 * soloNs } } };
  });
  return table(plans, gated);
}

/** Table 4: a training's mean throughput beside each inference, under Orion; twice that, to alone, is saved. */
function costSavings() {
  return models.map((model) => {
    const of = models.map(
      (high) => played("orion-mps", besideTraining(high, model, "poisson")).perS[0] ?? 0,
    );
    const alone = alonePerS(besideTraining("resnet50", model, "poisson"), 0);
    const savings = (2 * mean(of)) / alone;
    console.log(
      `${model.padEnd(12)} alone ${alone.toFixed(2)} together ${mean(of).toFixed(2)} it/s savings ${savings.toFixed(2)}`,
    );
    return { model, alonePerS: alone, togetherPerS: mean(of), savings };
  });
}

/** Figures 8 and 9: ResNet50 at 100 requests a second, evenly, beside its training. */
function utilisation() {
  const seconds = 20;
  const plan: Plan = {
    high: { ...inference("resnet50"), arrivalsNs: uniform(100, seconds) },
    bestEffort: [training("resnet50")],
    seconds,
  };
  return ["solo", "orion-mps"].map((name) => {
    const { smActivity, compute, dram } = figures(name, plan);
    console.log(name, { smActivity, compute, dram });
    return { arrangement: name, smActivity, compute, dram };
  });
}

/** Figure 10, and the makespan of section 6.2.2. */
function trainTrain() {
  const trainings = pairs(["resnet50", "resnet101", "bert"] as const, [
    "mobilenetv2",
    "transformer",
  ]);
  const search = ["orion-mps", "reef-mps", "tgs-mps"];
  return ["streams", "mps", "tick-tock-mps", ...search].map((arrangement) => {
    // The search for SM_THRESHOLD takes its time; the last quarter counts.
    const seconds = arrangement === "orion-mps" ? 48 : 16;
    const of = trainings.map(([high, other]) => {
      const plan: Plan = { high: training(high), bestEffort: [training(other)], seconds };
      const window = runWindow({ arrangement: arrangementNamed(arrangement), ...plan });
      const fromNs = window.startNs + seconds * 0.75e9;
      const perS = (times: readonly number[]) => rate(times, fromNs, window.endNs);
      const highPerS = perS(
        window.requests.map(({ arrivalNs, latencyNs }) => arrivalNs + latencyNs),
      );
      return {
        high: highPerS * (training(high).profile.soloNs ?? 0) * 1e-9,
        bestEffort: perS(window.doneNs[0] ?? []) * (training(other).profile.soloNs ?? 0) * 1e-9,
      };
    });
    const row = {
      arrangement,
      high: mean(of.map((one) => one.high)),
      bestEffort: mean(of.map((one) => one.bestEffort)),
      together: mean(of.map((one) => one.high + one.bestEffort)),
      best: Math.max(...of.map((one) => one.high + one.bestEffort)),
      pairs: of,
    };
    console.log(
      `${arrangement.padEnd(16)} high ${row.high.toFixed(2)} best-effort ${row.bestEffort.toFixed(2)} together ${row.together.toFixed(2)} (best ${row.best.toFixed(2)})`,
    );
    return row;
  });
}

/** Figures 11 and 12. */
function infInf() {
  return (["apollo", "poisson"] as const).map((arrivals) => {
    console.log(`inf-inf, ${arrivals}`);
    const high = arrivals === "apollo" ? visionModels : models;
    const plans = pairs<Model>(high, models)
      .filter(([one, other]) => one !== other)
      .map(([one, other]) => besideInference(one, [other], arrivals));
    return { arrivals, pairs: plans.length, rows: table(plans, [...baselines, ...gated]) };
  });
}

/** Figure 13, on the V100 that the profiles are of; rates are halved, or five services would not fit on it. */
function fiveClients() {
  const plans = models.map((high) => {
    const others = models.filter((other) => other !== high);
    const seconds = secondsFor(requestsPerS[high].besideTraining);
    const arrivalsNs = poisson(requestsPerS[high].poisson / 2, seconds, 1);
    const bestEffort = others.map((other, i) => ({
      ...inference(other),
      arrivalsNs: poisson(requestsPerS[other].poisson / 2, seconds, 2 + i),
    }));
    return { high: { ...inference(high), arrivalsNs }, bestEffort, seconds };
  });
  return table(plans, ["mps", ...gated]);
}

/** Figure 14: one part of the policy after the other; DUR_THRESHOLD holds with both. */
function ablation() {
  const plans = pairs<Model>(models, models).map(([one, other]) =>
    besideTraining(one, other, "poisson"),
  );
  return table(plans, ["mps", "streams", `orion-mps:smLimit=${2 ** 32 - 1}`, "orion-mps"]);
}

/** Section 6.4: ResNet101 inference beside training, DUR_THRESHOLD as a part of the request. */
function durThreshold() {
  const plan = besideTraining("resnet101", "resnet50", "poisson");
  const soloUs = 1000 * played("solo", plan).burstP50Ms;
  return [0.01, 0.025, 0.03, 0.05, 0.1, 0.15, 0.2].map((part) => {
    const us = Math.round(part * soloUs);
    const of = figures(`orion-mps:budgetUs=${us},chunkUs=${us}`, plan);
    console.log(
      `${(100 * part).toFixed(1)} % ${us} us: p50 ${of.latencyP50Ms.toFixed(1)} p99 ${of.latencyP99Ms.toFixed(1)} ms, training ${of.perS[0]?.toFixed(2)} it/s`,
    );
    return { part, us, p50Ms: of.latencyP50Ms, p99Ms: of.latencyP99Ms, trainingPerS: of.perS[0] };
  });
}

const experiments = {
  "dur-threshold": durThreshold,
  utilisation,
  "inf-train": infTrain,
  "longer-requests": longerRequests,
  "cost-savings": costSavings,
  ablation,
  "inf-inf": infInf,
  "five-clients": fiveClients,
  "train-train": trainTrain,
} as const;

if (!hasProfiles)
  throw new Error("Orion's profiles are not there: COTENANT_DATA says where they are.");
const asked = process.argv.slice(2);
for (const [name, experiment] of Object.entries(experiments)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`== ${name}`);
  save(`model-orion-${name}`, { gpu: "V100", rows: experiment() });
}
