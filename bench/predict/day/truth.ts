// The truth of a simulated day: how each two workloads run together, drawn from cells that the bench measured on an H200.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseResult } from "#bench";
import { mulberry32, normals, type Random } from "#core";
import { responseGrowth } from "#place";

const results = join(import.meta.dirname, "../../results");
const FILES =
  /-h200-bench-(bert-graph|resnet50-graph|resnet50-eager)\+(bert|gpt2|resnet50)-train(@.*)?\.json$/;

/** Arrangements under which services are protected, and others. */
const PROTECTING = ["strict-isolated", "cotenant-isolated", "cotenant-mps", "strict-mps"];
const OTHERS = [
  "temporal-isolated",
  "orion-mps",
  "reef-mps",
  "mps-priority",
  "time-slicing",
  "mps",
];
/** Part of the workloads that run as under one of the others. */
const UNPROTECTED = 0.15;

/** How a pair runs, whatever the load is. */
export interface PairTruth {
  /** Factor by which bursts of the service are longer. */
  readonly slowdown: number;
  /** Throughput of the job while a request is served, and while there is none. */
  readonly beside: number;
  readonly alone: number;
}

/** Means over the cells of a service, a training and an arrangement at a load of 0.2, by these three. */
export function measuredPairs(): ReadonlyMap<string, PairTruth> {
  const cells = new Map<string, PairTruth[]>();
  for (const file of readdirSync(results)
    .filter((one) => FILES.test(one))
    .sort()) {
    const { scenario, cells: all } = parseResult(readFileSync(join(results, file), "utf8"), file);
    const [training, ...more] = scenario.bestEffort;
    if (scenario.load !== 0.2 || !training || more.length > 0) continue;
    for (const { arrangement, high, bestEffort } of all) {
      if (![...PROTECTING, ...OTHERS].includes(arrangement) || !high || !bestEffort) continue;
      const key = `${scenario.high.name} ${training.name} ${arrangement}`;
      const active = high.activeShare.value;
      const retained = Math.min(1, bestEffort.retained.value);
      const truth = {
        slowdown: Math.max(1, high.burst.p50.value),
        beside: Math.max(0, (retained - (1 - active)) / active),
        // Losses beyond the turns are those while no request is served.
        alone: Math.min(1, retained / (1 - active)),
      };
      if (Object.values(truth).every(Number.isFinite))
        cells.set(key, [...(cells.get(key) ?? []), truth]);
    }
  }
  return new Map([...cells].map(([key, all]) => [key, meanOf(all)]));
}

function meanOf(all: readonly PairTruth[]): PairTruth {
  const mean = (of: (one: PairTruth) => number) =>
    all.reduce((sum, one) => sum + of(one), 0) / all.length;
  return {
    slowdown: mean(({ slowdown }) => slowdown),
    beside: mean(({ beside }) => beside),
    alone: mean(({ alone }) => alone),
  };
}

export interface Truth {
  /** The pair of the workloads with these numbers. */
  pair(service: number, job: number): PairTruth;
  /** Part of the time in which the service's requests are served without a job, 0 to 1. `at`: s. */
  loadOf(service: number, at: number): number;
  /** GPU time of the job's kernels a second while it has the GPU by itself, 0 to 1. */
  busyOf(job: number): number;
}

/** Standard deviation of the logarithm of what a pair has by itself. */
const PAIR_SPREAD = 0.05;
const DAY_S = 86_400;

/**
 * Each workload is drawn from the measured services or trainings, and has an arrangement that nobody sees. A pair behaves as the
 * measured one under the arrangement of one of both, drawn once. So it is neither a function of busy shares, nor a sum of
 * what its workloads add.
 */
export function truthOf(
  seed: number,
  { services, jobs }: { readonly services: number; readonly jobs: number },
  measured: ReadonlyMap<string, PairTruth>,
): Truth {
  const random = mulberry32(seed);
  const normal = normals(random);
  const draw = (names: readonly string[]) => ({
    name: oneOf(names, random),
    arrangement: oneOf(random() < UNPROTECTED ? OTHERS : PROTECTING, random),
  });
  const serving = Array.from({ length: services }, () => ({
    ...draw(["bert-graph", "resnet50-graph", "resnet50-eager"]),
    ...{ base: 0.1 + 0.25 * random(), peak: 0.2 * random(), phase: random() },
  }));
  const training = Array.from({ length: jobs }, () => ({
    ...draw(["bert-train", "gpt2-train", "resnet50-train"]),
    busy: 0.6 + 0.4 * random(),
  }));
  const pairs = serving.map((service) =>
    training.map((job): PairTruth => {
      const { arrangement } = random() < 0.5 ? service : job;
      const truth = measured.get(`${service.name} ${job.name} ${arrangement}`);
      if (!truth)
        throw new Error(
          `nothing was measured of ${service.name} and ${job.name} under ${arrangement}`,
        );
      const spread = Math.exp(PAIR_SPREAD * normal());
      return {
        slowdown: Math.max(1, truth.slowdown * Math.exp(PAIR_SPREAD * normal())),
        ...{ beside: Math.min(1, truth.beside * spread), alone: Math.min(1, truth.alone * spread) },
      };
    }),
  );
  return {
    pair: (service, job) => pairs[service]?.[job] ?? { slowdown: 1, beside: 0, alone: 1 },
    loadOf(service, at) {
      const { base = 0, peak = 0, phase = 0 } = serving[service] ?? {};
      return base + peak * Math.sin(2 * Math.PI * (at / DAY_S + phase)) ** 2;
    },
    busyOf: (job) => training[job]?.busy ?? 1,
  };
}

const oneOf = (names: readonly string[], random: Random): string =>
  names[Math.floor(random() * names.length)] ?? "";

/** Retained throughput and slowdown with queueing at a load, and part of the time in which requests are served then. */
export function runningAt({ slowdown, beside, alone }: PairTruth, load: number) {
  const active = Math.min(1, load * slowdown);
  return {
    active,
    retained: active * beside + (1 - active) * alone,
    slowdown: responseGrowth(load, 1 / slowdown),
  };
}
