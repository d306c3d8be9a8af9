import type { Api } from "../api/client.ts";
import {
  CLASS_ANNOTATION,
  MATCH_GATE,
  MATCHED_CONDITION,
  SYSTEM_NAMESPACE,
} from "../labels/names.ts";
import type { LearningSummary } from "../manager/learning/learner.ts";
import { readRecord } from "../manager/learning/record.ts";
import type {
  Claim,
  Condition,
  GpuNode,
  Pairing,
  Pod,
  SharingPolicy,
} from "../manager/state/objects.ts";
import { claimNameIn, isBestEffort } from "../manager/state/pods.ts";
import { policyOf } from "../manager/state/policy.ts";
import { claimsForGpus } from "../manager/state/snapshot.ts";
import { type NodePart, nodePartOf } from "./node-part.ts";

const COTENANT = "/apis/cotenant.io/v1alpha1";

export interface ClusterStatus {
  readonly installed: boolean;
  readonly manager: string | undefined;
  /** It is as the Lease has it; undefined: a manager decides, or none ever did. */
  readonly silentSince: string | undefined;
  readonly policy: readonly string[];
  readonly nodePart: NodePart | undefined;
  readonly gpus: {
    readonly nodes: number;
    readonly all: number;
    readonly served: number;
    readonly shared: number;
  };
  readonly pods: { readonly high: number; readonly running: number; readonly waiting: number };
  /** The most frequent comes first; the sentence is that of one of them. */
  readonly waits: readonly {
    readonly reason: string;
    readonly pods: number;
    readonly message: string;
  }[];
  readonly retained: { readonly predicted: number; readonly measured: number } | undefined;
  /** The key is the model of GPU; empty before the first training. */
  readonly forecasts: readonly LearningSummary[];
}

/** Rejects with an ApiError when the API server refuses. */
export async function statusOf(api: Api, wallNow: number): Promise<ClusterStatus> {
  if ((await api.find(`${COTENANT}/sharingpolicies`)) === undefined) return nothing;
  const [pods, claims, gpuNodes, pairings, policies, nodePart, lease, record] = await Promise.all([
    api.list<Pod>("/api/v1/pods?fieldSelector=status.phase!=Succeeded,status.phase!=Failed"),
    api.list<Claim>("/apis/resource.k8s.io/v1/resourceclaims"),
    api.list<GpuNode>(`${COTENANT}/gpunodes`),
    api.list<Pairing>(`${COTENANT}/pairings`),
    api.list<SharingPolicy>(`${COTENANT}/sharingpolicies`),
    nodePartOf(api),
    api.find<Lease>(
      `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases/cotenant-manager`,
    ),
    readRecord(api),
  ]);
  const high = pods.items.filter(
    ({ metadata }) => metadata.annotations?.[CLASS_ANNOTATION] === "high",
  );
  const served = new Set(
    high.filter(({ status }) => status.phase === "Running").map(({ metadata }) => metadata.uid),
  );
  const gpus = gpuNodes.items.flatMap(({ status }) => status?.gpus ?? []);
  const shared = new Set(
    claimsForGpus(claims.items, pods.items).map(
      ({ metadata }) => metadata.annotations?.["cotenant.io/gpu"],
    ),
  );
  const bestEffort = pods.items.filter((pod) => isBestEffort(pod) && claimNameIn(pod) !== "");
  const waiting = bestEffort.filter(isGated);
  const { paused, dryRun, drain } = policyOf(policies.items);
  return {
    installed: true,
    ...managerOf(lease, wallNow),
    policy: Object.entries({ paused, dryRun, drain }).flatMap(([name, on]) => (on ? [name] : [])),
    nodePart,
    gpus: {
      nodes: gpuNodes.items.length,
      all: gpus.length,
      served: gpus.filter(({ podUid }) => served.has(podUid ?? "")).length,
      shared: gpus.filter(({ uuid }) => shared.has(uuid)).length,
    },
    pods: {
      high: high.length,
      running: bestEffort.filter(({ status }) => status.phase === "Running").length,
      waiting: waiting.length,
    },
    waits: waitsOf(waiting),
    retained: retainedOf(pairings.items),
    forecasts: record.learned,
  };
}

const nothing: ClusterStatus = {
  installed: false,
  manager: undefined,
  silentSince: undefined,
  policy: [],
  nodePart: undefined,
  gpus: { nodes: 0, all: 0, served: 0, shared: 0 },
  pods: { high: 0, running: 0, waiting: 0 },
  waits: [],
  retained: undefined,
  forecasts: [],
};

interface Lease {
  readonly spec: { readonly holderIdentity?: string; readonly renewTime?: string };
}

/** A manager renews its Lease each 2 s. Clocks of a cluster are some seconds apart. */
const SILENT_AFTER_MS = 60_000;

function managerOf(
  lease: Lease | undefined,
  wallNow: number,
): Pick<ClusterStatus, "manager" | "silentSince"> {
  const { holderIdentity: manager = "", renewTime = "" } = lease?.spec ?? {};
  if (manager === "") return { manager: undefined, silentSince: undefined };
  return wallNow - Date.parse(renewTime) < SILENT_AFTER_MS
    ? { manager, silentSince: undefined }
    : { manager: undefined, silentSince: renewTime };
}

export const isGated = ({ spec }: Pod): boolean =>
  spec.schedulingGates?.some(({ name }) => name === MATCH_GATE) ?? false;

export const saidOf = ({ status }: Pod): Condition | undefined =>
  status.conditions?.find(
    ({ type, status: holds }) => type === MATCHED_CONDITION && holds === "False",
  );

function waitsOf(waiting: readonly Pod[]): ClusterStatus["waits"] {
  const byReason = new Map<string, { reason: string; pods: number; message: string }>();
  for (const pod of waiting) {
    const { reason = "NotSaidYet", message = "The manager has not said yet why." } =
      saidOf(pod) ?? {};
    const one = byReason.get(reason) ?? { reason, pods: 0, message };
    byReason.set(reason, { ...one, pods: one.pods + 1 });
  }
  return [...byReason.values()].sort((a, b) => b.pods - a.pods);
}

function retainedOf(pairings: readonly Pairing[]): ClusterStatus["retained"] {
  const both = pairings.flatMap(({ spec, status }) => {
    const measured = status?.measured?.retained;
    return measured === undefined ? [] : [{ measured, predicted: spec.predicted.retained }];
  });
  if (both.length === 0) return undefined;
  const mean = (of: (one: (typeof both)[number]) => number) =>
    both.reduce((sum, one) => sum + of(one), 0) / both.length;
  return {
    predicted: mean(({ predicted }) => predicted),
    measured: mean(({ measured }) => measured),
  };
}
