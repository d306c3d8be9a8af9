import { type Micros, parseDuration } from "#core";
import type { Move as Decided, Movable } from "#place";
import { GPU_ANNOTATION, MATCHED_AT_ANNOTATION, MOVE_COST_ANNOTATION } from "../../labels/names.ts";
import type { WaitingPod } from "../matching/waiting.ts";
import type { Claim, Pod } from "../state/objects.ts";
import { claimKeyIn, isBestEffort, keyOf, workloadOf } from "../state/pods.ts";
import { claimsByGpu, type GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import { ratios } from "../state/tried.ts";

export interface MovablePod {
  readonly again: WaitingPod;
  readonly pod: Pod;
  readonly claim: Claim;
  readonly costSeconds: number;
}

export interface Move {
  readonly kind: "move";
  readonly pod: Pod;
  readonly node: string;
  readonly gpu: string;
  readonly memoryBytes: number;
  readonly from: string;
  readonly retained: { readonly here: number; readonly there: number };
}

/** undefined: the pod does not say that it may be moved, or it can't be read. */
export function moveCostSeconds({ metadata: { annotations } }: Pod): number | undefined {
  const text = annotations?.[MOVE_COST_ANNOTATION] ?? "";
  // The chart's admission.yaml lets the same texts through, but annotations may be changed later.
  if (!/^[1-9]\d{0,5}(s|min|h)$/.test(text)) return undefined;
  const cost: Micros = parseDuration(text);
  return cost / 1e6;
}

interface MovableJob extends Movable<WaitingPod> {
  readonly pod: Pod;
}

/** Nothing is moved whose `now` is unknown. `wallNow`: ms since 1970. */
export function movableJob(
  { again, pod, claim, costSeconds }: MovablePod,
  now: Running | undefined,
  wallNow: number,
): readonly MovableJob[] {
  if (now === undefined) return [];
  const { annotations = {} } = claim.metadata;
  const since = Date.parse(annotations[MATCHED_AT_ANNOTATION] ?? "");
  const from = annotations[GPU_ANNOTATION] ?? "";
  return [
    {
      ...{ again, pod, costSeconds, ...now, from, id: pod.metadata.uid },
      forSeconds: (wallNow - since) / 1000,
    },
  ];
}

export const moveOf = ({ one, to, there }: Decided<GpuSeat, WaitingPod, MovableJob>): Move => ({
  ...{ kind: "move", pod: one.pod, memoryBytes: one.again.memoryBytes, from: one.from },
  ...{ node: to.site, gpu: to.uuid },
  retained: { here: one.retained, there },
});

type Running = Pick<MovableJob, "retained" | "worth">;

/** Figures are as measured, else as expected. `sumOn` is the worth of a GPU's pods. */
export function runningNow(
  { pods, claims, pairings, forecasts, trials }: ClusterSnapshot,
  served: ReadonlyMap<string, GpuSeat>,
) {
  const byClaim = new Map<string, Pod>();
  for (const pod of pods) if (isBestEffort(pod)) byClaim.set(claimKeyIn(pod), pod);
  const measured = new Map<string, number | undefined>();
  for (const one of pairings) measured.set(keyOf(one), one.status?.measured?.retained);
  const sums = new Map<string, number>();
  const byPod = new Map<Pod, Running>();
  for (const [uuid, there] of claimsByGpu(claims)) {
    const seat = served.get(uuid);
    if (seat === undefined) continue;
    let sum = 0;
    for (const claim of there) {
      const pod = byClaim.get(keyOf(claim));
      if (pod === undefined) continue;
      const profile = forecasts.profileOf(pod);
      const names = { service: seat.workload, job: workloadOf(pod) };
      const forecast = forecasts.of(seat.service, profile, seat, there.length - 1, names);
      // Learned forecasts know already what pods like it have shown.
      const isLearned = forecast.from === "rule" || forecast.from === "model";
      const ratio = isLearned ? 1 : ratios(trials(pod), forecasts).of(seat.beside);
      const retained = measured.get(keyOf(claim)) ?? forecast.retained * ratio;
      // Both are 0 beside a service that is active all the time.
      const worth = retained * (forecast.worth / forecast.retained || 1);
      byPod.set(pod, { retained, worth });
      sum += worth;
    }
    sums.set(uuid, sum);
  }
  return { sumOn: (uuid: string) => sums.get(uuid) ?? 0, of: (pod: Pod) => byPod.get(pod) };
}
