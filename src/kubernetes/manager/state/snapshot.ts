import type { Trials as ByService, KeptPlace, Losing } from "#place";
import { DEVICE_CLASS } from "../../labels/names.ts";
import type { Forecasts, Profiled } from "./forecast.ts";
import type { Claim, GpuNode, Namespace, Node, Pairing, Pod, PolicySpec } from "./objects.ts";
import type { VolumeDemand } from "./volumes.ts";

export interface TrialConditions {
  readonly service: Profiled | undefined;
  readonly job: Profiled | undefined;
  readonly gpu: { readonly model: string; readonly activeShare: number };
  readonly others: number;
}

export type Trials = ByService<TrialConditions>;

/** Keys are UUIDs of GPUs with too little memory for their claims; values are ms, as `now`. */
export type Crowded = ReadonlyMap<string, number>;

/** Keys are UUIDs of GPUs. The claims have been these since `since`, in ms since 1970. */
export type Sharers = ReadonlyMap<string, { readonly claims: string; readonly since: number }>;

/** Keys are UIDs of released pods that the scheduler refuses; values are ms, as `now`. */
export type Refused = ReadonlyMap<string, number>;

export interface CarriedState {
  readonly losing: Losing;
  readonly refused: Refused;
  readonly crowded: Crowded;
  readonly sharers: Sharers;
}

export interface ClusterSnapshot extends CarriedState {
  /** It is in ms, of the clock that `heardAt` has. */
  readonly now: number;
  /** It is in ms since 1970, for comparison with what the manager has written. */
  readonly wallNow: number;
  readonly policy: PolicySpec;
  readonly namespaces: Iterable<Namespace>;
  readonly pods: Iterable<Pod>;
  readonly claims: Iterable<Claim>;
  readonly nodes: Iterable<Node>;
  readonly gpuNodes: Iterable<GpuNode>;
  readonly pairings: Iterable<Pairing>;
  readonly forecasts: Forecasts;
  heardAt(node: string): number;
  avoided(pod: Pod): readonly string[];
  /** They are nodes to which the scheduler could not take such a pod at any time. */
  failedOn(pod: Pod): readonly string[];
  slowed(pod: Pod): readonly string[];
  trials(pod: Pod): Trials;
  /** undefined: none has run for long enough. */
  serviceBytes(service: Pod): number | undefined;
  volumeDemand(pod: Pod): VolumeDemand;
  readonly kept: readonly KeptPlace[];
  refusal(namespace: string): string | undefined;
}

/** Only the manager can make these. An ended pod keeps its claim, but no part of the GPU. */
export function claimsForGpus(claims: Iterable<Claim>, pods: Iterable<Pod>): readonly Claim[] {
  const alive = new Set([...pods].map(({ metadata }) => metadata.uid));
  return [...claims].filter(
    ({ metadata: { ownerReferences = [] }, spec }) =>
      spec.devices?.requests?.some(({ exactly }) => exactly?.deviceClassName === DEVICE_CLASS) &&
      ownerReferences.some(({ uid }) => alive.has(uid)),
  );
}
