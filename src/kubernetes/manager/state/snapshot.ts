// The sample of a cluster on which the manager decides.
import type { Trials as ByService, KeptPlace, Losing } from "#place";
import { DEVICE_CLASS } from "../../labels/names.ts";
import type { Forecasts, Profiled } from "./forecast.ts";
import type { Claim, GpuNode, Namespace, Node, Pairing, Pod, PolicySpec } from "./objects.ts";
import type { VolumeDemand } from "./volumes.ts";

/** Conditions under which a pod was measured beside a service. */
export interface TrialConditions {
  readonly service: Profiled | undefined;
  readonly job: Profiled | undefined;
  readonly gpu: { readonly model: string; readonly activeShare: number };
  /** How many other best-effort pods were there. */
  readonly others: number;
}

/** Measured retained throughput of a workload's pods, by the controller of the service beside them. */
export type Trials = ByService<TrialConditions>;

/** GPUs whose claims are for more memory than there is, by UUID: since when, ms as `now`. */
export type Crowded = ReadonlyMap<string, number>;

/** The claims for parts of each GPU, by UUID, and since when they have been these: ms since 1970. */
export type Sharers = ReadonlyMap<string, { readonly claims: string; readonly since: number }>;

/** Released pods that the scheduler refuses, by UID: since when, ms as `now`. */
export type Refused = ReadonlyMap<string, number>;

/** State that one interval leaves for the next. */
export interface CarriedState {
  /** Pods that would retain more elsewhere. */
  readonly losing: Losing;
  readonly refused: Refused;
  readonly crowded: Crowded;
  readonly sharers: Sharers;
}

/** The whole cluster at one time. */
export interface ClusterSnapshot extends CarriedState {
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
  /** Nodes to which the scheduler could not take a pod of the same controller at any time. */
  failedOn(pod: Pod): readonly string[];
  /** Controllers of services that pods of the same workload were measured to slow too much. */
  slowed(pod: Pod): readonly string[];
  /** Measurements of pods of the same workload. */
  trials(pod: Pod): Trials;
  /** The most memory that services of the same workload have had on a GPU; undefined: none has run for long enough. */
  serviceBytes(service: Pod): number | undefined;
  /** Demands of the volumes of a pod on its node. */
  volumeDemand(pod: Pod): VolumeDemand;
  /** Places that are kept for the next pods of those that were moved. */
  readonly kept: readonly KeptPlace[];
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
