// What the pods of a controller were measured to retain, by the service beside them. From it follows what the next of them is
// expected to retain beside the same service, and beside others.
import { MOVE_COST_ANNOTATION } from "../names.ts";
import type { Forecasts } from "./forecast.ts";
import type { Pod } from "./objects.ts";
import { claimKeyIn, controllerOf, keyOf } from "./pods.ts";
import { claimsByGpu } from "./seats.ts";
import type { Seen, Trial, Trials } from "./seen.ts";

export interface Tried {
  /** Takes what the Pairings say of pods that may be moved. */
  observe(seen: Omit<Seen, "trials">): void;
  /** Of the pod's controller. */
  of(pod: Pod): Trials;
}

/** Controllers are forgotten from the oldest on. */
const MOST_REMEMBERED = 20_000;

export function tries(): Tried {
  const byController = new Map<string, Map<string, Trial>>();
  return {
    observe(seen) {
      const byClaim = new Map<string, Pod>();
      const byUid = new Map<string, Pod>();
      for (const pod of seen.pods) {
        const { uid, annotations } = pod.metadata;
        if (annotations?.[MOVE_COST_ANNOTATION] !== undefined) byClaim.set(claimKeyIn(pod), pod);
        byUid.set(uid, pod);
      }
      if (byClaim.size === 0) return;
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
        const controller = controllerOf(pod);
        const trials = byController.get(controller) ?? new Map<string, Trial>();
        byController.delete(controller);
        byController.set(controller, trials);
        trials.set(controllerOf(service), {
          ...{ retained, gpu: { model: gpu.model, activeShare: gpu.activeShare } },
          service: seen.forecasts.profileOf(service),
          job: seen.forecasts.profileOf(pod),
          others: Math.max(0, (claims.get(spec.gpu)?.length ?? 1) - 1),
        });
      }
      for (const controller of byController.keys()) {
        if (byController.size <= MOST_REMEMBERED) break;
        byController.delete(controller);
      }
    },
    of: (pod) => byController.get(controllerOf(pod)) ?? new Map(),
  };
}

/** A forecast is wrong by this factor at most. */
const MOST_RATIO = 20;

/**
 * Measured, divided by what is forecast for the same: for services that were tried, and for all others. How wrong a
 * forecast is depends on the pod and on the pair, as much on one as on the other. So the mean logarithm of n services that
 * were tried counts n / (n + 1) beside another service: the credibility of Bühlmann (1967) for equal variances.
 */
export function ratios(trials: Trials, forecasts: Forecasts): (beside: string) => number {
  const known = new Map<string, number>();
  let sum = 0;
  for (const [beside, { retained, service, job, gpu, others }] of trials) {
    const forecast = forecasts.of(service, job, gpu, others).retained;
    const ratio = Math.min(
      MOST_RATIO,
      Math.max(1 / MOST_RATIO, retained / Math.max(0.01, forecast)),
    );
    known.set(beside, ratio);
    sum += Math.log(ratio);
  }
  const elsewhere = Math.exp(sum / (known.size + 1));
  return (beside) => known.get(beside) ?? elsewhere;
}
