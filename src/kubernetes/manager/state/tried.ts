// Measured retained throughput of a workload's pods, by the service beside them. It corrects the forecast of the
// workload's next pods beside the same service, and beside others.
import type { Forecasts } from "./forecast.ts";
import type { Pod } from "./objects.ts";
import { claimKeyIn, controllerOf, isBestEffort, keyOf, workloadOf } from "./pods.ts";
import { claimsByGpu } from "./seats.ts";
import type { ClusterSnapshot, Trial, Trials } from "./snapshot.ts";

export interface Tried {
  /** Takes what the Pairings say of pods. */
  observe(seen: Omit<ClusterSnapshot, "trials">): void;
  /** Measurements of the pod's workload. */
  of(pod: Pod): Trials;
}

/** Workloads are forgotten from the oldest on. */
const MAX_REMEMBERED = 20_000;
/**
 * Time after the last pod beside a service until its measurements are dropped: the service may be another version by
 * then.
 */
const REMEMBERED_MS = 24 * 3_600_000;

export function tries(): Tried {
  const byWorkload = new Map<string, Map<string, Trial>>();
  const none: Trials = new Map();
  let latest = Number.NEGATIVE_INFINITY;
  return {
    observe(seen) {
      latest = seen.now;
      const byClaim = new Map<string, Pod>();
      const byUid = new Map<string, Pod>();
      for (const pod of seen.pods)
        if (isBestEffort(pod)) byClaim.set(claimKeyIn(pod), pod);
        else byUid.set(pod.metadata.uid, pod);
      const gpus = new Map(
        [...seen.gpuNodes]
          .flatMap(({ status }) => status?.gpus ?? [])
          .map((gpu) => [gpu.uuid, gpu]),
      );
      const claims = claimsByGpu(seen.claims);
      for (const pairing of seen.pairings) {
        const { spec, status } = pairing;
        const pod = byClaim.get(keyOf(pairing));
        const gpu = gpus.get(spec.gpu);
        const service = byUid.get(gpu?.podUid ?? "");
        const retained = status?.measured?.retained;
        if (!pod || !gpu || !service || retained === undefined) continue;
        const workload = workloadOf(pod);
        const trials = byWorkload.get(workload) ?? new Map<string, Trial>();
        byWorkload.delete(workload);
        byWorkload.set(workload, trials);
        trials.set(controllerOf(service), {
          ...{ retained, gpu: { model: gpu.model, activeShare: gpu.activeShare }, at: seen.now },
          service: seen.forecasts.profileOf(service),
          job: seen.forecasts.profileOf(pod),
          others: Math.max(0, (claims.get(spec.gpu)?.length ?? 1) - 1),
        });
      }
      for (const workload of byWorkload.keys()) {
        if (byWorkload.size <= MAX_REMEMBERED) break;
        byWorkload.delete(workload);
      }
    },
    of(pod) {
      const trials = byWorkload.get(workloadOf(pod));
      if (trials === undefined) return none;
      for (const [beside, { at }] of trials) if (latest - at > REMEMBERED_MS) trials.delete(beside);
      return trials;
    },
  };
}

/** By what forecasts of a workload are to be multiplied. */
export interface Ratios {
  /** Beside a service of this controller. */
  of(beside: string): number;
  /** The largest of them. */
  readonly most: number;
}

export const NEVER_MEASURED: Ratios = { of: () => 1, most: 1 };

/** A forecast is wrong by this factor at most. */
const MAX_RATIO = 20;

/**
 * Measured, divided by what is forecast for the same: for services that were tried, and for all others. How wrong a
 * forecast is depends on the workload and on the pair, as much on one as on the other. So the mean logarithm of n services that
 * were tried counts n / (n + 1) beside another service: the credibility of Bühlmann (1967) for equal variances.
 */
export function ratios(trials: Trials, forecasts: Forecasts): Ratios {
  const known = new Map<string, number>();
  let sum = 0;
  for (const [beside, { retained, service, job, gpu, others }] of trials) {
    const forecast = forecasts.of(service, job, gpu, others).retained;
    const ratio = Math.min(MAX_RATIO, Math.max(1 / MAX_RATIO, retained / Math.max(0.01, forecast)));
    known.set(beside, ratio);
    sum += Math.log(ratio);
  }
  const elsewhere = Math.exp(sum / (known.size + 1));
  return {
    of: (beside) => known.get(beside) ?? elsewhere,
    most: Math.max(elsewhere, ...known.values()),
  };
}
