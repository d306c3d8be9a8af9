// Best-effort pods beside which a service was measured to be slower than the SharingPolicy allows, whatever was predicted. Of
// several on a GPU the last one goes: nobody knows which of them it is, and the next measurement shows whether that helped.
import type { Pod } from "../state/objects.ts";
import { claimKeyIn, keyOf } from "../state/pods.ts";
import { claimsByGpu, type GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot, Parted } from "../state/snapshot.ts";
import { lastFirst } from "./crowded.ts";

/** A node part averages for this long, so an earlier measurement is also about a pod that has gone since. ms. */
const WINDOW_MS = 600_000;

export interface Harm {
  readonly kind: "harm";
  readonly pod: Pod;
  readonly node: string;
  readonly gpu: string;
  /** Controller of the service. */
  readonly service: string;
  /** Mean time of its requests beside the pod, divided by that without. */
  readonly slowdown: number;
}

/** `pods`: those that have a part of a GPU. `served`: all GPUs of services, by UUID. */
export function harmIn(
  seen: ClusterSnapshot,
  pods: readonly Pod[],
  served: ReadonlyMap<string, GpuSeat>,
): { readonly evictions: readonly Harm[]; readonly parted: Parted } {
  const byClaim = new Map(pods.map((pod) => [claimKeyIn(pod), pod]));
  const measured = new Map([...seen.pairings].map((one) => [keyOf(one), one.status?.measured]));
  const parted = new Map([...seen.parted].filter(([, at]) => seen.wallNow - at < 2 * WINDOW_MS));
  const evictions: Harm[] = [];
  for (const [gpu, claims] of claimsByGpu(seen.claims)) {
    const seat = served.get(gpu);
    if (seat === undefined) continue;
    const from = (seen.parted.get(gpu) ?? Number.NEGATIVE_INFINITY) + WINDOW_MS;
    const slowdowns = claims.map((claim) => {
      const { at, slowdown = 1 } = measured.get(keyOf(claim)) ?? {};
      return at !== undefined && Date.parse(at) > from ? slowdown : 1;
    });
    const slowdown = Math.max(1, ...slowdowns);
    if (slowdown <= seen.policy.mostSlowdown) continue;
    const [last] = claims.filter((one) => byClaim.has(keyOf(one))).sort(lastFirst(byClaim));
    const pod = last && byClaim.get(keyOf(last));
    if (pod === undefined) continue;
    const node = seat.node.metadata.name;
    evictions.push({ kind: "harm", pod, node, gpu, service: seat.beside, slowdown });
    parted.set(gpu, seen.wallNow);
  }
  return { evictions, parted };
}
