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

export interface GpuSeat extends Gpu {
  readonly node: Node;
  readonly service: Profiled | undefined;
  readonly workload: string;
  readonly statesObjective: boolean;
  readonly missingBytes: number;
}

export interface UnschedulableGpus {
  unserved: number;
  silent: number;
  unhealthy: number;
  because: string | undefined;
  unprotected: number;
  starting: number;
  several: number;
  busy: number;
  full: number;
  closed: number;
}

/** A node part writes each 60 s at least: after this long nothing is known of its GPUs. */
const HEARD_WITHIN_MS = 150_000;

export function seatsIn(seen: ClusterSnapshot): {
  readonly seats: readonly GpuSeat[];
  /** The key is the UUID; those that take no more pods are among them. */
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

/** It is known sooner than that the node part reports nothing. */
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

function bytesBeside(seen: ClusterSnapshot, gpu: ObservedGpu, service: Pod): number {
  const stated = memoryOf(service.metadata) ?? 0;
  // The node has taken these off; an older node part, only what the service has now.
  const counted = gpu.serviceBytes === undefined ? 0 : Math.max(gpu.serviceBytes, stated);
  const reserved = Math.max(counted, stated, seen.serviceBytes(service) ?? 0);
  return gpu.memoryBytes - (reserved - counted);
}

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

/** A pod might tolerate the taint of a cordoned node, which is left alone all the same. */
const takesPods = ({ spec, status }: Node): boolean =>
  !spec.unschedulable &&
  (status.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false);
