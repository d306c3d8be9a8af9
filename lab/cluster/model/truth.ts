// The true effect of sharing on a pair. Schedulers never see this: they get forecasts from noisy samples
// (predictions.ts), and noisy observations.
import type { RandomStream } from "./random-stream.ts";
import { aloneAt, type Workload } from "./workload.ts";

/** Retained throughputs while both sides work, 0 to 1. */
interface Together {
  readonly online: number;
  readonly offline: number;
}

export interface Truth {
  /** The online side may use all SMs, the offline side `share` of them. */
  together(online: Workload, offline: Workload, share: number): Together;
  /** Retained throughput of an offline workload beside another one that may use `share` of the SMs. */
  beside(one: Workload, other: Workload, share: number): number;
}

/**
 * Two GPUs or two days are never equal. So each pair of workloads deviates from the truth by a factor of its own, which
 * is the same for a whole run. `spread`: standard deviation of its logarithm.
 */
export function perturb(truth: Truth, random: RandomStream, spread: number): Truth {
  const factors = new Map<Workload, Map<Workload, Together>>();
  const factorsOf = (online: Workload, offline: Workload): Together => {
    const known = factors.get(online)?.get(offline);
    if (known) return known;
    const drawn = {
      online: Math.exp(spread * random.normal()),
      offline: Math.exp(spread * random.normal()),
    };
    const beside = factors.get(online) ?? new Map<Workload, Together>();
    factors.set(online, beside.set(offline, drawn));
    return drawn;
  };
  return {
    together(online, offline, share) {
      const exact = truth.together(online, offline, share);
      const factor = factorsOf(online, offline);
      // The factor applies to the loss, so a pair without a loss stays without one.
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
