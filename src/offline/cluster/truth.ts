// What sharing really does to a pair: the simulator's secret. Schedulers get forecasts made from noisy samples
// (predictions.ts) and noisy observations, never this.
import type { RandomStream } from "./random-stream.ts";
import { aloneAt, type Workload } from "./workload.ts";

/** Retained throughputs while both are at work, 0 to 1. */
interface Together {
  readonly online: number;
  readonly offline: number;
}

export interface Truth {
  /** The online side may use all SMs, the offline side `share` of them. */
  together(online: Workload, offline: Workload, share: number): Together;
  /** What is left of an offline workload's speed beside another one that has `share` of the SMs. */
  beside(one: Workload, other: Workload, share: number): number;
}

/**
 * No two GPUs and no two days are alike: each pair of workloads deviates from the truth by a factor of its own,
 * the same for the whole run; `spread`: standard deviation of its logarithm.
 */
export function perturbed(truth: Truth, random: RandomStream, spread: number): Truth {
  const factors = new Map<string, Together>();
  const factorsOf = (online: Workload, offline: Workload): Together => {
    const key = `${online.name}\n${offline.name}`;
    const known = factors.get(key);
    if (known) return known;
    const drawn = {
      online: Math.exp(spread * random.normal()),
      offline: Math.exp(spread * random.normal()),
    };
    factors.set(key, drawn);
    return drawn;
  };
  return {
    together(online, offline, share) {
      const exact = truth.together(online, offline, share);
      const factor = factorsOf(online, offline);
      // The loss is what deviates, so that a pair that loses nothing goes on losing nothing.
      return {
        online: 1 - Math.min(0.95, (1 - exact.online) * factor.online),
        offline:
          aloneAt(offline, share) *
          lessLost(exact.offline, aloneAt(offline, share), factor.offline),
      };
    },
    beside: truth.beside,
  };
}

const lessLost = (retained: number, alone: number, factor: number): number =>
  alone > 0 ? 1 - Math.min(0.95, Math.max(0, 1 - retained / alone) * factor) : 0;
