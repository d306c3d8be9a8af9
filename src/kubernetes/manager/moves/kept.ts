// Places that are kept for the next pods of those that were moved.

import { occupy, type Placement, type Rules, worth } from "../matching/rounds.ts";
import type { WaitingPod } from "../matching/waiting.ts";
import { controllerOf } from "../state/pods.ts";
import type { GpuSeat } from "../state/seats.ts";
import type { KeptPlace } from "../state/snapshot.ts";

/** Gives kept places to the first pods of their controllers, and closes those whose pods have not come. Changes `seats`. */
export function placeKept(
  ordered: readonly WaitingPod[],
  seats: readonly GpuSeat[],
  kept: readonly KeptPlace[],
  rules: Rules,
): { readonly placed: readonly Placement[]; readonly rest: readonly WaitingPod[] } {
  if (kept.length === 0) return { placed: [], rest: ordered };
  const byUuid = new Map(seats.map((seat) => [seat.uuid, seat]));
  const rest = new Set(ordered);
  const placed: Placement[] = [];
  for (const { controller, gpu, memoryBytes } of kept) {
    const seat = byUuid.get(gpu);
    if (seat === undefined || seat.pods >= seat.slots) continue;
    const next = ordered.find((one) => rest.has(one) && controllerOf(one.pod) === controller);
    const forecast = next && worth(seat, next, rules) > 0 ? rules.forecast(seat, next) : undefined;
    if (next && forecast && occupy(seat, next, rules)) {
      rest.delete(next);
      placed.push({ waiting: next, seat, forecast });
    } else if (!next) {
      seat.pods += 1;
      seat.freeBytes -= memoryBytes;
    }
  }
  return { placed, rest: [...rest] };
}
