// It keeps no state: the time of a taint says since when a GPU has had no service.
import type { GpuStatus } from "#agent";
import { statedLoad } from "#place";
import { memoryOf } from "../../labels/memory.ts";
import { CLASS_ANNOTATION } from "../../labels/names.ts";
import type { DeviceTaint, NodePod } from "./objects.ts";

/** Its value `none` or `other` says who has a GPU without a service. */
const SERVICE_TAINT = "cotenant.io/service";
const HEALTH_TAINT = "cotenant.io/health";
const AGENT_TAINT = "cotenant.io/agent";

/** Memory is reported in steps, because each change is a write. */
const MEMORY_STEP = 256 * 2 ** 20;

export interface Policy {
  readonly slots: number;
  /** Best-effort pods stay this long on a GPU that lost its service or is over its limit. */
  readonly graceMs: number;
}

export interface Holder {
  readonly namespace: string;
  readonly name: string;
  /** It is one of several replicas of the GPU (time slicing by NVIDIA's plugin). */
  readonly isReplica: boolean;
  /** Several pods have it by a claim of NVIDIA's DRA driver. */
  readonly claimIsShared?: boolean;
}

export interface NodeSample {
  /** It is in ms since 1970. */
  readonly now: number;
  readonly gpus: readonly GpuStatus[];
  /** Whether `gpus` is what the agent says now, not what it said last. */
  readonly agentAnswers: boolean;
  readonly holders: ReadonlyMap<string, Holder>;
  readonly pods: Iterable<NodePod>;
  /** They are as last published, by UUID. */
  readonly taints: ReadonlyMap<string, readonly DeviceTaint[]>;
  readonly services: ReadonlyMap<string, ServiceMemory>;
}

export interface ServiceMemory {
  readonly podUid: string;
  readonly bytes: number;
}

export interface NodeGpu {
  readonly uuid: string;
  readonly model: string;
  readonly healthy: boolean;
  /** It is the end of "the GPU is …". */
  readonly because: string | undefined;
  readonly served: boolean;
  readonly starting: boolean;
  readonly slots: number;
  /** Memory that is left beside the service, with what is reserved for it. */
  readonly memoryBytes: number;
  readonly serviceBytes: number;
  readonly activeShare: number;
  readonly podUid: string | undefined;
  readonly taints: readonly DeviceTaint[];
  readonly older: number;
  readonly hold: string | undefined;
}

export const gpusOf = (seen: NodeSample, policy: Policy): readonly NodeGpu[] =>
  seen.gpus.map((gpu) => {
    const holder = holderOf(seen, gpu);
    const service = serviceOf(seen, gpu, holder);
    const state = stateOf(gpu);
    const before = seen.taints.get(gpu.uuid) ?? [];
    const taint = (key: string, value: string, effects: Effects): DeviceTaint => {
      // The same cause goes on: so does its time.
      const known = before.find((one) => one.key === key);
      const timeAdded = known?.timeAdded ?? new Date(seen.now).toISOString();
      const over = seen.now - Date.parse(timeAdded) >= policy.graceMs;
      return { key, value, effect: over ? effects.later : effects.first, timeAdded };
    };
    const taints: DeviceTaint[] = [];
    if (!seen.agentAnswers) taints.push(taint(AGENT_TAINT, "silent", stays));
    if (state === "unhealthy") taints.push(taint(HEALTH_TAINT, state, stays));
    if (state === "overlimit") taints.push(taint(HEALTH_TAINT, state, evicts));
    if (state === "disabled" || state === DIVIDED) taints.push(taint(HEALTH_TAINT, state, atOnce));
    if (service === undefined)
      taints.push(taint(SERVICE_TAINT, holder === undefined ? "none" : "other", evicts));
    const processes = service
      ? gpu.high.filter(({ identity }) => identity?.pod === service.metadata.uid)
      : [];
    const serviceBytes = mostMemory(gpu, service, seen.services.get(gpu.uuid));
    return {
      uuid: gpu.uuid,
      model: gpu.name,
      ...judged(seen, gpu, holder),
      served: processes.length > 0,
      starting: processes.some(({ starting }) => starting),
      slots: policy.slots,
      memoryBytes: memoryLeft(
        gpu,
        Math.max(serviceBytes, (service && memoryOf(service.metadata)) ?? 0),
      ),
      serviceBytes,
      activeShare: statedLoad(gpu.high.reduce((sum, { activeShare }) => sum + activeShare, 0)),
      podUid: service?.metadata.uid,
      taints,
      older: [...gpu.high, ...gpu.bestEffort].filter((client) => client.older).length,
      hold: holdOf(gpu, holder, service),
    };
  });

interface Effects {
  readonly first: DeviceTaint["effect"];
  readonly later: DeviceTaint["effect"];
}
const stays: Effects = { first: "NoSchedule", later: "NoSchedule" };
const evicts: Effects = { first: "NoSchedule", later: "NoExecute" };
const atOnce: Effects = { first: "NoExecute", later: "NoExecute" };

const admits: ReadonlySet<string> = new Set(["init", "healthy"]);

/** kubelet names a pod for a second or two after its last process has ended. */
function holderOf({ holders, pods }: NodeSample, gpu: GpuStatus): Holder | undefined {
  const holder = holders.get(gpu.uuid);
  for (const pod of pods)
    if (holder && isOf(holder, pod) && isLeaving(pod) && !hasProcess(pod, gpu)) return undefined;
  return holder;
}

/** Whether it is a service that is being deleted. */
export const isLeaving = (pod: NodePod): boolean =>
  isHigh(pod) && pod.metadata.deletionTimestamp !== undefined;

const isOf = ({ namespace, name }: Holder, { metadata }: NodePod): boolean =>
  namespace === metadata.namespace && name === metadata.name;

const hasProcess = ({ metadata: { uid } }: NodePod, { high }: GpuStatus): boolean =>
  high.some(({ identity }) => identity?.pod === uid);

/** undefined: nobody has it, or a pod that has not opted in. */
function serviceOf(
  { pods }: NodeSample,
  gpu: GpuStatus,
  holder: Holder | undefined,
): NodePod | undefined {
  if (holder?.isReplica) return undefined;
  for (const pod of pods) {
    // A kubelet that has just started names no holder: then processes on the GPU say whose it is.
    const has = holder ? isOf(holder, pod) : hasProcess(pod, gpu);
    if (has && isHigh(pod)) return pod;
  }
  return undefined;
}

export const isHigh = ({ metadata: { annotations } }: NodePod): boolean =>
  annotations?.[CLASS_ANNOTATION] === "high";

/** The instances of a divided GPU can't be distinguished here. */
const DIVIDED = "divided";
const stateOf = ({ health }: GpuStatus): string =>
  health?.divided ? DIVIDED : (health?.state ?? "healthy");

function judged(
  { agentAnswers }: NodeSample,
  gpu: GpuStatus,
  holder: Holder | undefined,
): Pick<NodeGpu, "healthy" | "because"> {
  const state = stateOf(gpu);
  const because = !agentAnswers
    ? "not watched: the agent does not answer"
    : state === DIVIDED
      ? 'divided by MIG, which Cotenant does not share: run "nvidia-smi -mig 0" for it on the node, or keep Cotenant from the node by its nodeSelector'
      : holder?.claimIsShared
        ? "given to several pods by one claim, so no pod has it alone: give each pod a claim of its own, by a ResourceClaimTemplate"
        : holder?.isReplica
          ? "given out in replicas (time slicing), so no pod has it alone: take it out of sharing in the device plugin's configuration"
          : admits.has(state)
            ? undefined
            : `${state}: ${gpu.health?.cause}`;
  return { healthy: because === undefined, because };
}

/** The agent itself pauses beyond a limit, too; the request also parks what can be parked. */
function holdOf(
  { health }: GpuStatus,
  holder: Holder | undefined,
  service: NodePod | undefined,
): string | undefined {
  if (health?.state === "overlimit" || health?.state === "disabled")
    return `the GPU is ${health.state}: ${health.cause}`;
  if (service !== undefined) return undefined;
  return holder === undefined
    ? "no service has the GPU"
    : `the pod ${holder.namespace}/${holder.name} has the GPU, which does not share it`;
}

const memoryOfClients = (clients: readonly { readonly gpuMemory: number | undefined }[]): number =>
  clients.reduce((sum, { gpuMemory = 0 }) => sum + gpuMemory, 0);

/** It is what they had together, so memory of processes that ended a moment ago never counts. */
function mostMemory(
  { high }: GpuStatus,
  service: NodePod | undefined,
  before: ServiceMemory | undefined,
): number {
  if (service === undefined) return 0;
  const now = Math.ceil(memoryOfClients(high) / MEMORY_STEP) * MEMORY_STEP;
  return Math.max(now, before?.podUid === service.metadata.uid ? before.bytes : 0);
}

function memoryLeft({ reading, high, bestEffort }: GpuStatus, reserved: number): number {
  const { memoryTotal = 0, memoryUsed = 0 } = reading ?? {};
  const own = memoryOfClients(high);
  const others = Math.max(0, memoryUsed - own - memoryOfClients(bestEffort));
  const left = Math.max(0, memoryTotal - others - Math.max(own, reserved));
  return Math.floor(left / MEMORY_STEP) * MEMORY_STEP;
}
