// What the manager sees of a cluster when it decides.
import { DEVICE_CLASS } from "../names.ts";
import type { Forecasts } from "./forecast.ts";
import type { Claim, GpuNode, Namespace, Node, Pairing, Pod, PolicySpec } from "./objects.ts";

/** All as of now, of the whole cluster. */
export interface Seen {
  /** ms, of the clock that `heardAt` has. */
  readonly now: number;
  /** ms since 1970: for comparison with what the manager has written. */
  readonly wallNow: number;
  readonly policy: PolicySpec;
  readonly namespaces: Iterable<Namespace>;
  readonly pods: Iterable<Pod>;
  /** Those that the manager has made. */
  readonly claims: Iterable<Claim>;
  readonly nodes: Iterable<Node>;
  readonly gpuNodes: Iterable<GpuNode>;
  readonly pairings: Iterable<Pairing>;
  readonly forecasts: Forecasts;
  /** When a node's agent was last seen to tell something. */
  heardAt(node: string): number;
  /** Nodes to which the scheduler could not take earlier pods of the same controller. */
  avoided(pod: Pod): readonly string[];
  /** Why the API server has refused a claim in a namespace a short time ago. */
  refusal(namespace: string): string | undefined;
}

/**
 * The claims for parts of GPUs. Only the manager can make these: whatever other claims say is not believed. A pod that has
 * ended keeps its claim until it is deleted, but no part of the GPU.
 */
export function claimsForGpus(claims: Iterable<Claim>, pods: Iterable<Pod>): readonly Claim[] {
  const alive = new Set([...pods].map(({ metadata }) => metadata.uid));
  return [...claims].filter(
    ({ metadata: { ownerReferences = [] }, spec }) =>
      spec.devices?.requests?.some(({ exactly }) => exactly?.deviceClassName === DEVICE_CLASS) &&
      ownerReferences.some(({ uid }) => alive.has(uid)),
  );
}
