import { type Ratios, ratiosOf, trialBook } from "#place";
import type { Forecasts } from "./forecast.ts";
import type { Pod } from "./objects.ts";
import { claimKeyIn, controllerOf, isBestEffort, keyOf, workloadOf } from "./pods.ts";
import { claimsByGpu } from "./seats.ts";
import type { ClusterSnapshot, TrialConditions, Trials } from "./snapshot.ts";

export interface Tried {
  observe(seen: Omit<ClusterSnapshot, "trials">): void;
  of(pod: Pod): Trials;
}

export function tries(): Tried {
  const book = trialBook<TrialConditions>();
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
        const conditions = {
          gpu: { model: gpu.model, activeShare: gpu.activeShare },
          service: seen.forecasts.profileOf(service),
          job: seen.forecasts.profileOf(pod),
          others: Math.max(0, (claims.get(spec.gpu)?.length ?? 1) - 1),
        };
        book.add(workloadOf(pod), controllerOf(service), { retained, at: seen.now, conditions });
      }
    },
    of: (pod) => book.of(workloadOf(pod), latest),
  };
}

export const ratios = (trials: Trials, forecasts: Forecasts): Ratios =>
  ratiosOf(
    [...trials].map(
      ([
        beside,
        {
          retained,
          conditions: { service, job, gpu, others },
        },
      ]) => [beside, retained, forecasts.of(service, job, gpu, others).retained],
    ),
  );
