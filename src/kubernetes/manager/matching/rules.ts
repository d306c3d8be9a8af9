import { allows, type Rules } from "#place";
import { shortageOf, take } from "../state/requests.ts";
import type { GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot } from "../state/snapshot.ts";
import type { WaitingPod } from "./waiting.ts";

/** `free` shrinks with each pod that is matched. */
export function rulesOf(
  { policy, forecasts }: ClusterSnapshot,
  free: ReadonlyMap<string, Map<string, number>>,
): Rules<GpuSeat, WaitingPod> {
  const freeOf = ({ site }: GpuSeat) => free.get(site) ?? new Map<string, number>();
  return {
    fits: (seat, { pod, requests, obstacle, slowed }) =>
      !slowed.includes(seat.beside) &&
      obstacle(pod, seat.node) === undefined &&
      shortageOf(freeOf(seat), requests) === undefined,
    forecast(seat, { profile, workload: job }) {
      const names = { job, service: seat.workload };
      const expected = forecasts.of(seat.service, profile, seat, seat.pods, names);
      const { retained, worth, from, slowdown = 1, slowdownHigh = slowdown } = expected;
      if (!allows(policy, { retained, slowdown: slowdownHigh })) return undefined;
      return { retained, worth, isCorrected: from !== "turns" };
    },
    take(seat, { requests }) {
      const left = free.get(seat.site);
      if (left === undefined || shortageOf(left, requests) !== undefined) return false;
      take(left, requests);
      return true;
    },
  };
}
