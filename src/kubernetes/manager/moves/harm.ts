// The last of several pods on a GPU goes: nobody knows which of them it is, and the next
// measurement shows whether that helped. An objective is left to the node's agent.
import type { Pod } from "../state/objects.ts";
import { claimKeyIn, keyOf } from "../state/pods.ts";
import { claimsByGpu, type GpuSeat } from "../state/seats.ts";
import type { ClusterSnapshot, Sharers } from "../state/snapshot.ts";
import { lastFirst } from "./crowded.ts";
import { requestsSlowed } from "./requests-slowed.ts";

export interface Harm {
  readonly kind: "harm";
  readonly pod: Pod;
  readonly node: string;
  readonly gpu: string;
  readonly service: string;
  readonly slowdown: number;
}

/** A measurement counts if the same pods shared the GPU before it; at the start that is assumed. */
export function harmIn(
  seen: ClusterSnapshot,
  pods: readonly Pod[],
  served: ReadonlyMap<string, GpuSeat>,
): { readonly evictions: readonly Harm[]; readonly sharers: Sharers } {
  const byClaim = new Map(pods.map((pod) => [claimKeyIn(pod), pod]));
  const measured = new Map([...seen.pairings].map((one) => [keyOf(one), one.status?.measured]));
  const sharers = new Map<string, { readonly claims: string; readonly since: number }>();
  const evictions: Harm[] = [];
  for (const [gpu, unordered] of claimsByGpu(seen.claims)) {
    const claims = unordered.toSorted(lastFirst(byClaim));
    const key = claims.map(keyOf).sort().join();
    const before = seen.sharers.get(gpu);
    const isKnown = before === undefined || before.claims === key;
    const since = isKnown ? (before?.since ?? Number.NEGATIVE_INFINITY) : seen.wallNow;
    sharers.set(gpu, { claims: key, since });
    const seat = served.get(gpu);
    if (seat === undefined || seat.statesObjective) continue;
    const slowdowns = claims.map((claim) => {
      const { at = "", ...figures } = measured.get(keyOf(claim)) ?? {};
      return Date.parse(at) > since ? requestsSlowed(figures) : 1;
    });
    const slowdown = Math.max(1, ...slowdowns);
    if (slowdown <= seen.policy.mostSlowdown) continue;
    // One that comes or goes changes what is measured.
    if (!claims.every((one) => byClaim.has(keyOf(one)))) continue;
    const [last] = claims;
    const pod = last && byClaim.get(keyOf(last));
    if (pod === undefined) continue;
    const node = seat.node.metadata.name;
    evictions.push({ kind: "harm", pod, node, gpu, service: seat.beside, slowdown });
  }
  return { evictions, sharers };
}
