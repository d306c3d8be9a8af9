// GPUs that best-effort pods may have a part of, as of now.
import type { Gpu } from "#place";
import { memoryOf } from "../../labels/memory.ts";
import { CLASS_ANNOTATION, GPU_ANNOTATION, OBJECTIVE_ANNOTATION } from "../../labels/names.ts";
import { objectiveIn } from "../../labels/objective.ts";
import type { Profiled } from "./forecast.ts";
import type { Claim, GpuNode, Node, ObservedGpu, Pod } from "./objects.ts";
import { controllerOf, workloadOf } from "./pods.ts";
import { selects } from "./policy.ts";
import { isSettled } from "./services.ts";
import type { ClusterSnapshot } from "./snapshot.ts";

/** A GPU that a service has. What is left of it shrinks with each pod that is matched. */
export interface GpuSeat extends Gpu {
  readonly node: Node;
  readonly service: Profiled | undefined;
  /** Workload of the service. */
  readonly workload: string;
  /** The service states an objective, to which the node's agent keeps. */
  readonly statesObjective: boolean;
  /** Memory that its claims are for and that the GPU does not have beside the service. */
  readonly missingBytes: number;
}

/** Why GPUs are none, counted: for the sentence that a pod gets which finds none. */
export interface UnschedulableGpus {
  /** GPUs that no running high pod has. */
  unserved: number;
  /** GPUs of which nothing was reported for long, or whose node part is not ready. */
  silent: number;
  unhealthy: number;
  /** Why the first of them is, as the end of "it is …". */
  because: string | undefined;
  /** GPUs whose service is no client of the agent, so that nothing would be held back for it. */
  unprotected: number;
  /** GPUs whose service is starting, or has not run for this long that its memory is known. */
  starting: number;
  /** GPUs whose service has others as well. */
  several: number;
  busy: number;
  full: number;
  /** GPUs of nodes that take no pods, or that the policy does not select. */
  closed: number;
}

/** A node part writes each 60 s at least; without a change for this long nothing is known of its GPUs. */
const HEARD_WITHIN_MS = 150_000;

/** The GPUs of services on nodes that take pods and have been reported of lately, with what claims leave of them. */
export function seatsIn(seen: ClusterSnapshot): {
  readonly seats: readonly GpuSeat[];
  /** By UUID: also those that take no more pods. */
  readonly served: ReadonlyMap<string, GpuSeat>;
  readonly without: UnschedulableGpus;
} {
  const high = new Map<string, Pod>();
  for (const pod of seen.pods)
    if (pod.metadata.annotations?.[CLASS_ANNOTATION] === "high" && pod.status.phase === "Running")
      high.set(pod.metadata.uid, pod);
  const taken = claimsByGpu(seen.claims);
  const several = gpusByPod(seen.gpuNodes);
  const byName = new Map([...seen.nodes].map((node) => [node.metadata.name, node]));
  const without: UnschedulableGpus = {
    ...{ unserved: 0, silent: 0, unhealthy: 0, because: undefined },
    ...{ unprotected: 0, starting: 0, several: 0, busy: 0, full: 0, closed: 0 },
  };
  const notReady = nodesWithoutPart(seen.pods);
  const seats: GpuSeat[] = [];
  const served = new Map<string, GpuSeat>();
  for (const { metadata, status } of seen.gpuNodes) {
    const node = byName.get(metadata.name);
    const gpus = status?.gpus ?? [];
    const isOpen =
      node && takesPods(node) && selects(seen.policy.nodeSelector, node.metadata.labels);
    if (!isOpen) without.closed += gpus.length;
    else if (
      seen.now - seen.heardAt(metadata.name) > HEARD_WITHIN_MS ||
      notReady.has(metadata.name)
    )
      without.silent += gpus.length;
    else
      for (const gpu of gpus) {
        const service = high.get(gpu.podUid ?? "");
        const here = taken.get(gpu.uuid) ?? [];
        const slots = Math.min(gpu.slots, seen.policy.podsPerGpu);
        if (!gpu.healthy && (service !== undefined || gpu.because !== undefined)) {
          without.unhealthy++;
          without.because ??= gpu.because && `${gpu.uuid} of ${metadata.name} is ${gpu.because}`;
        } else if (service === undefined) without.unserved++;
        else if (gpu.served === false) without.unprotected++;
        else {
          const profile = seen.forecasts.profileOf(service);
          const workload = workloadOf(service);
          const seat: GpuSeat = {
            ...{ node, uuid: gpu.uuid, model: gpu.model, activeShare: gpu.activeShare, slots },
            ...{ site: metadata.name, service: profile, workload },
            serviceKind: profile?.key ?? seen.forecasts.kindOf(workload),
            beside: controllerOf(service),
            statesObjective: objectiveOf(service) !== undefined,
            pods: here.length,
            freeBytes: bytesBeside(seen, gpu, service) - bytesOf(here),
            missingBytes: Math.max(0, bytesOf(here) - gpu.memoryBytes),
          };
          served.set(gpu.uuid, seat);
          if (!seen.policy.besideSeveralGpus && (several.get(service.metadata.uid) ?? 0) > 1)
            without.several++;
          else if (isLoading(seen, gpu, service)) without.starting++;
          else if (gpu.activeShare > seen.policy.mostActiveShare) without.busy++;
          else if (here.length >= slots) without.full++;
          else seats.push(seat);
        }
      }
  }
  return { seats, served, without };
}

const objectiveOf = ({ metadata }: Pod) =>
  objectiveIn(metadata.annotations?.[OBJECTIVE_ANNOTATION]).objective;

/** Nodes whose node part is there and not ready: that is known sooner than that it reports nothing. */
function nodesWithoutPart(pods: Iterable<Pod>): ReadonlySet<string> {
  const nodes = new Map<string, boolean>();
  for (const { spec, status } of pods) {
    if (!spec.isNodePart || spec.nodeName === undefined) continue;
    const isReady = status.conditions?.some(
      ({ type, status: is }) => type === "Ready" && is === "True",
    );
    // While it is replaced there are two.
    nodes.set(spec.nodeName, isReady === true || nodes.get(spec.nodeName) === true);
  }
  return new Set([...nodes].flatMap(([node, isReady]) => (isReady ? [] : [node])));
}

/** Number of GPUs of each pod, by its UID. */
function gpusByPod(nodes: Iterable<GpuNode>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of nodes)
    for (const { podUid } of status?.gpus ?? [])
      if (podUid !== undefined) counts.set(podUid, (counts.get(podUid) ?? 0) + 1);
  return counts;
}

/** A service that loads has only a part of the memory that it is going to have. */
function isLoading(seen: ClusterSnapshot, gpu: ObservedGpu, service: Pod): boolean {
  if (isSettled(service, seen)) return false;
  const isKnown =
    memoryOf(service.metadata) !== undefined || seen.serviceBytes(service) !== undefined;
  return gpu.starting === true || !isKnown;
}

/** Memory that the service leaves, when it has as much as it states, or as earlier pods like it have had. */
function bytesBeside(seen: ClusterSnapshot, gpu: ObservedGpu, service: Pod): number {
  const stated = memoryOf(service.metadata) ?? 0;
  // The node has taken these off; an older node part, only what the service has now.
  const counted = gpu.serviceBytes === undefined ? 0 : Math.max(gpu.serviceBytes, stated);
  const reserved = Math.max(counted, stated, seen.serviceBytes(service) ?? 0);
  return gpu.memoryBytes - (reserved - counted);
}

/** Memory that claims are for. */
export const bytesOf = (claims: readonly Claim[]): number =>
  claims.reduce((sum, { metadata }) => sum + (memoryOf(metadata) ?? 0), 0);

export function claimsByGpu(claims: Iterable<Claim>): ReadonlyMap<string, readonly Claim[]> {
  const taken = new Map<string, Claim[]>();
  for (const claim of claims) {
    const gpu = claim.metadata.annotations?.[GPU_ANNOTATION];
    if (gpu === undefined) continue;
    const here = taken.get(gpu);
    if (here) here.push(claim);
    else taken.set(gpu, [claim]);
  }
  return taken;
}

/** A cordoned node has a taint too, which a pod might tolerate; Cotenant leaves it alone all the same. */
const takesPods = ({ spec, status }: Node): boolean =>
  !spec.unschedulable &&
  (status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false);
