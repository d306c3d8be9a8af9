import type { BusyPair, MeasuredBusyPair } from "./rule.ts";

/** undefined: no pair of the workload was measured. */
export interface Effects {
  ofService(service: string): number | undefined;
  ofJob(job: string): number | undefined;
}

/** Credibility below 1 makes backfitting converge in a few. */
const ROUNDS = 6;

/**
 * Backfitting (Hastie and Tibshirani, 1990) fits both in turns. The mean over n pairs counts n
 *
 * (n + 1): Bühlmann's credibility (1967), if workloads and pairs differ by the same variance.
 */
export function fitEffects(
  pairs: readonly MeasuredBusyPair[],
  rule: (pair: BusyPair) => number,
): Effects {
  const rests = pairs.map((pair) => ({ ...pair, rest: pair.value - rule(pair) }));
  let services = new Map<string, number>();
  let jobs = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    services = meansBy(rests, "service", ({ job, rest }) => rest - (jobs.get(job) ?? 0));
    jobs = meansBy(rests, "job", ({ service, rest }) => rest - (services.get(service) ?? 0));
  }
  return { ofService: (one) => services.get(one), ofJob: (one) => jobs.get(one) };
}

type Rest = MeasuredBusyPair & { readonly rest: number };

function meansBy(
  all: readonly Rest[],
  key: "service" | "job",
  figureOf: (one: Rest) => number,
): Map<string, number> {
  const sums = new Map<string, { sum: number; count: number }>();
  for (const one of all) {
    const { sum, count } = sums.get(one[key]) ?? { sum: 0, count: 0 };
    sums.set(one[key], { sum: sum + figureOf(one), count: count + 1 });
  }
  return new Map([...sums].map(([name, { sum, count }]) => [name, sum / (count + 1)]));
}
