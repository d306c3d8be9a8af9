// What is to be done in one interval, from what was seen: pods that wait are matched with GPUs, matches that were begun
// are finished, and claims that lead nowhere are given up. The claim is the decision: nothing else is remembered, so a
// manager that is started again goes on.
import { type Candidate, match, type Seat } from "#place";
import {
  CLAIM_IN_POD,
  CLASS_ANNOTATION,
  DEVICE_CLASS,
  EXCLUDED_LABEL,
  EXCLUDED_NAMESPACES,
  GPU_ANNOTATION,
  MATCH_GATE,
  MATCHED_AT_ANNOTATION,
  NODE_ANNOTATION,
} from "../names.ts";
import { memoryOf } from "./memory.ts";
import type { Claim, GpuNode, Namespace, Node, ObservedGpu, Pod } from "./objects.ts";

/** All as of now, of the whole cluster. */
export interface Seen {
  /** ms since 1970. */
  readonly now: number;
  readonly namespaces: readonly Namespace[];
  readonly pods: readonly Pod[];
  readonly claims: readonly Claim[];
  readonly nodes: readonly Node[];
  readonly gpuNodes: readonly GpuNode[];
}

export type Action =
  /** Make the pod's claim, for this GPU. */
  | { readonly kind: "claim"; pod: Pod; node: string; gpu: string; memoryBytes: number }
  /** The pod has its claim: let it be scheduled, on this node. */
  | { readonly kind: "release"; pod: Pod; node: string }
  /** The scheduler has not taken the pod to its GPU. Without a claim: it never can. */
  | { readonly kind: "give-up"; pod: Pod; claim: Claim | undefined; node: string };

/** Older observations of a node say nothing any more. */
const OBSERVED_WITHIN_MS = 30_000;
/** Within this time after the match, the scheduler has allocated the claim if it ever does. */
const SCHEDULED_WITHIN_MS = 10_000;
const GIB = 2 ** 30;

interface GpuSeat extends Seat {
  readonly node: Node;
  readonly gpu: ObservedGpu;
}

interface WaitingPod extends Candidate {
  readonly pod: Pod;
  readonly memoryBytes: number;
}

export function plan(all: Seen): readonly Action[] {
  // Only the manager can make these: whatever other claims say is not believed.
  const claimsForGpus = all.claims.filter(isForPartOfGpu);
  const excluded = new Set(all.namespaces.filter(isExcluded).map(({ metadata }) => metadata.name));
  const isOurs = ({ metadata }: Pod) => !excluded.has(metadata.namespace ?? "");
  const seen = { ...all, claims: claimsForGpus, pods: all.pods.filter(isOurs) };
  const claims = new Map(seen.claims.map((claim) => [keyOf(claim), claim]));
  const actions: Action[] = [];
  const waiting: WaitingPod[] = [];
  for (const pod of seen.pods) {
    if (pod.metadata.annotations?.[CLASS_ANNOTATION] !== "best-effort") continue;
    if (pod.metadata.deletionTimestamp !== undefined || pod.spec.nodeName !== undefined) continue;
    const claim = claims.get(`${pod.metadata.namespace}/${claimNameIn(pod)}`);
    const isGated = pod.spec.schedulingGates?.some(({ name }) => name === MATCH_GATE);
    if (claim === undefined) {
      const memoryBytes = memoryOf(pod.metadata);
      if (!isGated) actions.push({ kind: "give-up", pod, claim, node: "" });
      else if (memoryBytes !== undefined) waiting.push(candidateOf(pod, memoryBytes));
      continue;
    }
    const { [NODE_ANNOTATION]: node = "", [MATCHED_AT_ANNOTATION]: matchedAt = "" } =
      claim.metadata.annotations ?? {};
    if (isGated) actions.push({ kind: "release", pod, node });
    else if (!claim.status?.allocation && seen.now - Date.parse(matchedAt) > SCHEDULED_WITHIN_MS)
      actions.push({ kind: "give-up", pod, claim, node });
  }
  return [...actions, ...matches(seen, waiting)];
}

/** One pod a GPU in each interval. A pod's worth on a GPU is what taking turns leaves of it. */
function matches(seen: Seen, waiting: readonly WaitingPod[]): readonly Action[] {
  const seats = seatsIn(seen);
  if (seats.length === 0 || waiting.length === 0) return [];
  const placed = match(seats, waiting, ({ node, gpu }, { pod }) =>
    mayRunOn(pod, node) ? 1 - gpu.activeShare : 0,
  );
  return waiting.flatMap(({ pod, memoryBytes }, i): Action[] => {
    const seat = seats[placed[i] ?? -1];
    if (seat === undefined) return [];
    const { node, gpu } = seat;
    return [{ kind: "claim", pod, node: node.metadata.name, gpu: gpu.uuid, memoryBytes }];
  });
}

/** The GPUs that a high pod has, on nodes that take pods and have been heard of lately, with what claims leave of them. */
function seatsIn({ now, pods, nodes, gpuNodes, claims }: Seen): readonly GpuSeat[] {
  const high = new Set(
    pods
      .filter(({ metadata }) => metadata.annotations?.[CLASS_ANNOTATION] === "high")
      .filter(({ status }) => status.phase === "Running")
      .map(({ metadata }) => metadata.uid),
  );
  const taken = claimsByGpu(claims);
  const byName = new Map(nodes.map((node) => [node.metadata.name, node]));
  return gpuNodes.flatMap(({ metadata: { name }, status }) => {
    const node = byName.get(name);
    if (node === undefined || status === undefined || !takesPods(node)) return [];
    if (now - Date.parse(status.observedAt) > OBSERVED_WITHIN_MS) return [];
    return status.gpus.flatMap((gpu) => {
      const here = taken.get(gpu.uuid) ?? [];
      if (!high.has(gpu.podUid ?? "") || here.length >= gpu.slots) return [];
      const used = here.reduce((sum, { metadata }) => sum + (memoryOf(metadata) ?? 0), 0);
      return [
        {
          name: `${name}/${gpu.uuid}`,
          // Pods choose among nodes, so GPUs of different nodes are not interchangeable.
          kind: `${name}/${gpu.activeShare}`,
          freeMemoryGB: (gpu.memoryBytes - used) / GIB,
          healthy: gpu.healthy,
          node,
          gpu,
        },
      ];
    });
  });
}

function claimsByGpu(claims: readonly Claim[]): ReadonlyMap<string, readonly Claim[]> {
  const taken = new Map<string, Claim[]>();
  for (const claim of claims) {
    const gpu = claim.metadata.annotations?.[GPU_ANNOTATION];
    if (gpu !== undefined) taken.set(gpu, [...(taken.get(gpu) ?? []), claim]);
  }
  return taken;
}

const takesPods = ({ spec, status }: Node): boolean =>
  !spec.unschedulable &&
  (status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false);

function candidateOf(pod: Pod, memoryBytes: number): WaitingPod {
  const { nodeSelector, tolerations, priority = 0 } = pod.spec;
  return {
    name: `${pod.metadata.namespace}/${pod.metadata.name}`,
    kind: JSON.stringify([nodeSelector, tolerations]),
    memoryGB: memoryBytes / GIB,
    priority,
    pod,
    memoryBytes,
  };
}

/** Whether the pod selects the node and tolerates it. What else there is to check is the scheduler's. */
function mayRunOn({ spec }: Pod, { metadata, spec: { taints = [] } }: Node): boolean {
  const { nodeSelector = {}, tolerations = [] } = spec;
  return (
    Object.entries(nodeSelector).every(([key, value]) => metadata.labels?.[key] === value) &&
    taints
      .filter(({ effect }) => effect !== "PreferNoSchedule")
      .every((taint) =>
        tolerations.some(
          ({ key, operator, value, effect }) =>
            (!effect || effect === taint.effect) &&
            (!key || key === taint.key) &&
            (operator === "Exists" || (value ?? "") === (taint.value ?? "")),
        ),
      )
  );
}

const isExcluded = ({ metadata: { name, labels = {} } }: Namespace): boolean =>
  EXCLUDED_NAMESPACES.includes(name) || EXCLUDED_LABEL in labels;

const isForPartOfGpu = ({ spec }: Claim): boolean =>
  spec.devices?.requests?.some(({ exactly }) => exactly?.deviceClassName === DEVICE_CLASS) ?? false;

const keyOf = ({ metadata }: Claim): string => `${metadata.namespace}/${metadata.name}`;

export const claimNameIn = ({ spec }: Pod): string =>
  spec.resourceClaims?.find(({ name }) => name === CLAIM_IN_POD)?.resourceClaimName ?? "";
