// Derives the state of each GPU of this node from reports of its agent, kubelet and the API server: whether it may
// take best-effort pods, how many and how much memory, which taints it has, and whether its best-effort work must
// pause now. It keeps no state: the time of a taint says since when a GPU has had no service.
import type { GpuStatus } from "#agent";
import { statedLoad } from "#place";
import { memoryOf } from "../../labels/memory.ts";
import { CLASS_ANNOTATION } from "../../labels/names.ts";
import type { DeviceTaint, NodePod } from "./objects.ts";

/** Taints of devices. Without a service: `none` or `other` says who has the GPU. */
const SERVICE_TAINT = "cotenant.io/service";
/** SysMonitor's state. */
const HEALTH_TAINT = "cotenant.io/health";
/** The agent does not answer. */
const AGENT_TAINT = "cotenant.io/agent";

/** Memory is reported in steps, because each change is a write. */
const MEMORY_STEP = 256 * 2 ** 20;

export interface Policy {
  /** Best-effort pods that may share a GPU. */
  readonly slots: number;
  /** For so many ms best-effort pods stay on a GPU that has lost its service, or is over its limit. */
  readonly graceMs: number;
}

/** The pod that has a GPU, as kubelet reports. */
export interface Holder {
  readonly namespace: string;
  readonly name: string;
  /** It is one of several replicas of the GPU (time slicing by NVIDIA's plugin). */
  readonly isReplica: boolean;
}

export interface NodeSample {
  /** ms since 1970. */
  readonly now: number;
  readonly gpus: readonly GpuStatus[];
  /** Whether `gpus` is what the agent says now, not what it said last. */
  readonly agentAnswers: boolean;
  /** By UUID. */
  readonly holders: ReadonlyMap<string, Holder>;
  /** The pods of this node that Cotenant looks at. */
  readonly pods: Iterable<NodePod>;
  /** Taints of each GPU, as last published. */
  readonly taints: ReadonlyMap<string, readonly DeviceTaint[]>;
  /** The service of each GPU and its memory, as last published. */
  readonly services: ReadonlyMap<string, ServiceMemory>;
}

/** The most GPU memory that a pod has had. */
export interface ServiceMemory {
  readonly podUid: string;
  readonly bytes: number;
}

export interface NodeGpu {
  readonly uuid: string;
  readonly model: string;
  readonly healthy: boolean;
  /** Why it is not, as the end of "the GPU is …". */
  readonly because: string | undefined;
  /** Whether a process of the high pod that has it is a client of the agent. */
  readonly served: boolean;
  /** Whether one of these processes is starting, by the agent's judgement. */
  readonly starting: boolean;
  readonly slots: number;
  /** Memory that is left beside the service, with what is reserved for it. */
  readonly memoryBytes: number;
  /** The most memory that the service's processes have had. */
  readonly serviceBytes: number;
  readonly activeShare: number;
  /** UID of the high pod that has the GPU. */
  readonly podUid: string | undefined;
  readonly taints: readonly DeviceTaint[];
  /** Clients whose library is older than the agent. */
  readonly older: number;
  /** Why best-effort work must stand still. */
  readonly hold: string | undefined;
}

export const gpusOf = (seen: NodeSample, policy: Policy): readonly NodeGpu[] =>
  seen.gpus.map((gpu) => {
    const holder = seen.holders.get(gpu.uuid);
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

/** As the agent's own rules have it: new best-effort work may come. */
const admits: ReadonlySet<string> = new Set(["init", "healthy"]);

/** The high pod that has a GPU; undefined: nobody has it, or a pod that has not opted in. */
function serviceOf(
  { pods }: NodeSample,
  { high }: GpuStatus,
  holder: Holder | undefined,
): NodePod | undefined {
  if (holder?.isReplica) return undefined;
  for (const pod of pods) {
    const { namespace, name, uid } = pod.metadata;
    // A kubelet that has just started names no holder yet: then the processes on the GPU say whose it is.
    const has = holder
      ? namespace === holder.namespace && name === holder.name
      : high.some(({ identity }) => identity?.pod === uid);
    if (has && isHigh(pod)) return pod;
  }
  return undefined;
}

export const isHigh = ({ metadata: { annotations } }: NodePod): boolean =>
  annotations?.[CLASS_ANNOTATION] === "high";

/** SysMonitor's state, or that the GPU is divided: its instances can't be distinguished here. */
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
      : holder?.isReplica
        ? "given out in replicas (time slicing), so no pod has it alone: take it out of sharing in the device plugin's configuration"
        : admits.has(state)
          ? undefined
          : `${state}: ${gpu.health?.cause}`;
  return { healthy: because === undefined, because };
}

/** The agent itself pauses what is over its limit, too; the request also parks what can be parked. */
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

/** GPU memory of a kind of clients, as the driver reports it of their processes. */
const memoryOfClients = (clients: readonly { readonly gpuMemory: number | undefined }[]): number =>
  clients.reduce((sum, { gpuMemory = 0 }) => sum + gpuMemory, 0);

/**
 * The most memory that the service's processes have had. It is what they had together, so memory of other processes that ended
 * a moment ago never counts.
 */
function mostMemory(
  { high }: GpuStatus,
  service: NodePod | undefined,
  before: ServiceMemory | undefined,
): number {
  if (service === undefined) return 0;
  const now = Math.ceil(memoryOfClients(high) / MEMORY_STEP) * MEMORY_STEP;
  return Math.max(now, before?.podUid === service.metadata.uid ? before.bytes : 0);
}

/** GPU memory that others than best-effort clients leave, where so much is kept for the service. */
function memoryLeft({ reading, high, bestEffort }: GpuStatus, reserved: number): number {
  const { memoryTotal = 0, memoryUsed = 0 } = reading ?? {};
  const own = memoryOfClients(high);
  const others = Math.max(0, memoryUsed - own - memoryOfClients(bestEffort));
  const left = Math.max(0, memoryTotal - others - Math.max(own, reserved));
  return Math.floor(left / MEMORY_STEP) * MEMORY_STEP;
}
