// Memory that can be parked gives way by itself: the agent parks it when the service allocates. Of
// the other pods as many are evicted as have to be.
import { MATCHED_AT_ANNOTATION, MOVABLE_ANNOTATION } from "../../labels/names.ts";
import { priorityOf } from "../matching/order.ts";
import type { Claim, Pod } from "../state/objects.ts";
import { claimKeyIn, keyOf } from "../state/pods.ts";
import { bytesOf, claimsByGpu, type GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot, Crowded } from "../state/snapshot.ts";

/** A service that has grown for a moment evicts nobody. */
const CROWDED_FOR_MS = 30_000;

export interface Crowding {
  readonly kind: "crowded";
  readonly pod: Pod;
  readonly node: string;
  readonly gpu: string;
}

/** `pods` have a part of a GPU. `served`: all GPUs of services, by UUID. */
export function crowdedIn(
  seen: ClusterSnapshot,
  pods: readonly Pod[],
  served: ReadonlyMap<string, GpuSeat>,
): { readonly evictions: readonly Crowding[]; readonly crowded: Crowded } {
  const byClaim = new Map(pods.map((pod) => [claimKeyIn(pod), pod]));
  const crowded = new Map<string, number>();
  const evictions: Crowding[] = [];
  for (const [gpu, claims] of claimsByGpu(seen.claims)) {
    const seat = served.get(gpu);
    if (seat === undefined || seat.missingBytes === 0) continue;
    const since = seen.crowded.get(gpu) ?? seen.now;
    crowded.set(gpu, since);
    if (seen.now - since < CROWDED_FOR_MS) continue;
    let missing = seat.missingBytes;
    for (const claim of claims.toSorted(lastFirst(byClaim))) {
      const pod = byClaim.get(keyOf(claim));
      if (missing <= 0 || pod === undefined || isMovable(pod)) continue;
      missing -= bytesOf([claim]);
      evictions.push({ kind: "crowded", pod, node: seat.node.metadata.name, gpu });
    }
  }
  return { evictions, crowded };
}

const isMovable = ({ metadata }: Pod): boolean =>
  metadata.annotations?.[MOVABLE_ANNOTATION] === "true";

/** The lowest priority comes first, and of equals the one that came last. */
export const lastFirst = (pods: ReadonlyMap<string, Pod>) => (one: Claim, other: Claim) => {
  const [a, b] = [pods.get(keyOf(one)), pods.get(keyOf(other))];
  const since = ({ metadata }: Claim) =>
    Date.parse(metadata.annotations?.[MATCHED_AT_ANNOTATION] ?? "");
  return (a && b ? priorityOf(a) - priorityOf(b) : 0) || since(other) - since(one);
};
