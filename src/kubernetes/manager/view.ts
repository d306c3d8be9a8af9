import type { Predictor } from "#predict";
import type { Api } from "../api/client.ts";
import { type Named, type Watched, watched } from "../api/watched.ts";
import { type Sampler, samplerOf } from "./sampler.ts";
import {
  keptClaim,
  keptNamespace,
  keptNode,
  keptPod,
  keptProfile,
  keptStorageClass,
  keptVolume,
  keptVolumeClaim,
  whole,
} from "./state/copies.ts";
import { type LearnedForecasts, pairsBy } from "./state/forecast.ts";
import type {
  Claim,
  GpuNode,
  Namespace,
  Node,
  Pairing,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  SharingPolicy,
  StorageClass,
  WorkloadProfile,
} from "./state/objects.ts";

export interface View extends Sampler {
  readonly synced: boolean;
  readonly pods: Watched<Pod>;
  readonly claims: Watched<Claim>;
  readonly pairings: Watched<Pairing>;
  readonly problem: string | undefined;
}

const COTENANT = "/apis/cotenant.io/v1alpha1";

export function viewOf(
  api: Api,
  predictor: Predictor | undefined,
  learner: LearnedForecasts,
  signal: AbortSignal,
  say: (line: string) => void,
): View {
  const watch = <T extends Named>(path: string, keep: (one: T) => T) =>
    watched<T>(api, { path, keep }, signal, say);
  const pods = watch<Pod>(
    "/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed",
    keptPod,
  );
  const all = {
    namespaces: watch<Namespace>("/api/v1/namespaces", keptNamespace),
    nodes: watch<Node>("/api/v1/nodes", keptNode),
    claims: watch<Claim>("/apis/resource.k8s.io/v1/resourceclaims", keptClaim),
    gpuNodes: watch<GpuNode>(`${COTENANT}/gpunodes`, whole),
    pairings: watch<Pairing>(`${COTENANT}/pairings`, whole),
    volumeClaims: watch<PersistentVolumeClaim>("/api/v1/persistentvolumeclaims", keptVolumeClaim),
    volumes: watch<PersistentVolume>("/api/v1/persistentvolumes", keptVolume),
    classes: watch<StorageClass>("/apis/storage.k8s.io/v1/storageclasses", keptStorageClass),
    profiles: watch<WorkloadProfile>(`${COTENANT}/workloadprofiles`, keptProfile),
    policies: watch<SharingPolicy>(`${COTENANT}/sharingpolicies`, whole),
  };
  const stores = [pods, ...Object.values(all)];
  const sampler = samplerOf({ ...all, pods }, predictor && pairsBy(predictor), learner);
  return {
    ...sampler,
    ...{ pods, claims: all.claims, pairings: all.pairings },
    get synced() {
      return stores.every(({ synced }) => synced);
    },
    get problem() {
      return stores.find(({ synced }) => !synced)?.problem;
    },
  };
}
