// A simulated cluster's objects as an API server holds them, with the fields that users, controllers, kubelet and the node
// part of Cotenant write.
import type { JobView, SeatView, Workload } from "#cluster";
import { names } from "#kubernetes";
import { statedLoad } from "#place";

const NAMESPACE = "simulated";
/** A pair is predicted for a model, and the simulator's predictions are the same for all. */
const MODEL = "Simulated GPU";
/** ms since 1970 of the begin of a simulation. */
const EPOCH = Date.parse("2026-01-05T00:00:00Z");
/** Services run since then. */
const BEFORE = "2025-12-01T00:00:00Z";

/** `now`: s of the simulation. */
export const wallAt = (now: number): number => EPOCH + 1000 * now;
/** RFC 3339 in seconds, as the API server writes times. */
const timeOf = (now: number): string =>
  new Date(wallAt(Math.floor(now))).toISOString().replace(/\.\d+Z$/, "Z");

const padded = (n: number): string => String(n).padStart(12, "0");
const nodeNameOf = (seat: number): string => `node-${seat}`;
export const uuidOf = (seat: number): string => `GPU-00000000-0000-4000-8000-${padded(seat)}`;
const serviceNameOf = (seat: number): string => `service-${seat}`;
const serviceUidOf = (seat: number): string => `00000000-0000-4000-9000-${padded(seat)}`;
/** `start`: number of earlier begins of the job. Each begin is another pod. */
export const podUidOf = (job: number, start: number): string =>
  `${String(start).padStart(8, "0")}-0000-4000-a000-${padded(job)}`;
export const podNameOf = (job: number, start: number): string => `job-${job}-${start}`;
export const claimNameOf = (job: number, start: number): string => `cotenant-job-${job}-${start}`;

/** Versions of objects only have to differ where objects do. */
let version = 0;
const metadata = (name: string, uid: string, created: string) => ({
  ...{ name, uid, creationTimestamp: created, resourceVersion: `${++version}`, generation: 1 },
  managedFields: [{ manager: "kube-apiserver", operation: "Update", apiVersion: "v1" }],
});

export const namespaceObject = () => ({
  ...{ apiVersion: "v1", kind: "Namespace", spec: { finalizers: ["kubernetes"] } },
  metadata: {
    ...metadata(NAMESPACE, "00000000-0000-4000-b000-000000000000", BEFORE),
    labels: { "kubernetes.io/metadata.name": NAMESPACE },
  },
  status: { phase: "Active" },
});

/** A node for each GPU: nothing is simulated of what the GPUs of one share. */
export const nodeObject = ({ index }: SeatView) => ({
  ...{ apiVersion: "v1", kind: "Node", spec: { podCIDR: "10.0.0.0/24" } },
  metadata: {
    ...metadata(nodeNameOf(index), `00000000-0000-4000-c000-${padded(index)}`, BEFORE),
    labels: { "kubernetes.io/hostname": nodeNameOf(index), "kubernetes.io/os": "linux" },
  },
  status: {
    capacity: { cpu: "64", memory: "512Gi", pods: "110", "nvidia.com/gpu": "1" },
    allocatable: { cpu: "63500m", memory: "500Gi", pods: "110", "nvidia.com/gpu": "1" },
    conditions: [
      { type: "MemoryPressure", status: "False", reason: "KubeletHasSufficientMemory" },
      { type: "Ready", status: "True", reason: "KubeletReady", lastTransitionTime: BEFORE },
    ],
    nodeInfo: { kubeletVersion: "v1.36.0", architecture: "amd64" },
  },
});

export const profileObject = ({ name }: Workload, metrics: Readonly<Record<string, number>>) => ({
  ...{ apiVersion: "cotenant.io/v1alpha1", kind: "WorkloadProfile" },
  metadata: { ...metadata(name, `profile of ${name}`, BEFORE), namespace: NAMESPACE },
  spec: { gpu: MODEL, metrics },
});

/** The service's replica on a GPU. `online`: its workload. */
export const serviceObject = ({ index }: SeatView, online: Workload, hasProfile: boolean) => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: {
    ...metadata(serviceNameOf(index), serviceUidOf(index), BEFORE),
    namespace: NAMESPACE,
    annotations: {
      [names.CLASS_ANNOTATION]: "high",
      ...(hasProfile && { [names.PROFILE_ANNOTATION]: online.name }),
    },
    ownerReferences: [controllerOf("ReplicaSet", `service ${online.name}`)],
  },
  spec: {
    ...{ nodeName: nodeNameOf(index), priority: 0, schedulerName: "default-scheduler" },
    containers: [
      {
        ...{ name: "serve", image: `registry.example/${online.name}` },
        resources: { limits: { "nvidia.com/gpu": "1" }, requests: { cpu: "4", memory: "16Gi" } },
      },
    ],
  },
  status: {
    ...{ phase: "Running", qosClass: "Burstable", startTime: BEFORE },
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: BEFORE }],
  },
});

const controllerOf = (kind: string, name: string) => ({
  ...{ apiVersion: "apps/v1", kind, name, uid: name, controller: true, blockOwnerDeletion: true },
});

export interface JobAnnotations {
  readonly hasProfile: boolean;
  /** Cost of a move, s; undefined: it may not be moved. */
  readonly moveCost: number | undefined;
  /** Memory that it states, bytes. */
  readonly bytes: number;
}

/** `seat`: its GPU; undefined while it waits. `start`: number of earlier begins of the job. */
export const jobObject = (
  { index, workload, submitted, priority }: JobView,
  start: number,
  seat: number | undefined,
  { hasProfile, moveCost, bytes }: JobAnnotations,
) => ({
  ...{ apiVersion: "v1", kind: "Pod" },
  metadata: {
    ...metadata(podNameOf(index, start), podUidOf(index, start), timeOf(submitted)),
    namespace: NAMESPACE,
    annotations: {
      [names.CLASS_ANNOTATION]: "best-effort",
      [names.MEMORY_ANNOTATION]: `${bytes / 2 ** 20}Mi`,
      ...(moveCost !== undefined && {
        [names.MOVE_COST_ANNOTATION]: `${Math.max(1, Math.ceil(moveCost))}s`,
      }),
      ...(hasProfile && { [names.PROFILE_ANNOTATION]: workload.name }),
    },
    ownerReferences: [controllerOf("Job", `job ${index}`)],
  },
  spec: {
    ...{ priority, schedulerName: "default-scheduler", restartPolicy: "Never" },
    ...(seat === undefined
      ? { schedulingGates: [{ name: names.MATCH_GATE }] }
      : { nodeName: nodeNameOf(seat) }),
    containers: [
      {
        ...{ name: "train", image: `registry.example/${workload.name}`, args: ["--train"] },
        resources: {
          requests: { cpu: "4", memory: "16Gi" },
          claims: [{ name: names.CLAIM_IN_POD }],
        },
      },
    ],
    resourceClaims: [{ name: names.CLAIM_IN_POD, resourceClaimName: claimNameOf(index, start) }],
    tolerations: [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }],
  },
  status: {
    phase: seat === undefined ? "Pending" : "Running",
    conditions:
      seat === undefined
        ? [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }]
        : [{ type: "PodScheduled", status: "True" }],
  },
});

/** `made`: what the manager creates. The scheduler has allocated it. */
export const claimObject = (made: object, name: string, now: number) => ({
  ...made,
  metadata: {
    ...(made as { readonly metadata: object }).metadata,
    ...metadata(name, `claim ${name}`, timeOf(now)),
  },
  status: {
    allocation: { devices: { results: [{ request: names.CLAIM_IN_POD, driver: names.DRIVER }] } },
  },
});

/** `made`: what the manager creates. `retained`: measured; undefined while nothing is. */
export const pairingObject = (
  made: object,
  name: string,
  retained: number | undefined,
  now: number,
) => ({
  ...made,
  metadata: {
    ...(made as { readonly metadata: object }).metadata,
    ...metadata(name, `pairing ${name}`, timeOf(now)),
  },
  ...(retained !== undefined && { status: { measured: { retained, at: timeOf(now) } } }),
});

/** As the node part writes it. */
export const gpuNodeObject = (seat: SeatView, now: number) => ({
  ...{ apiVersion: "cotenant.io/v1alpha1", kind: "GPUNode" },
  metadata: metadata(nodeNameOf(seat.index), `gpunode ${seat.index}`, BEFORE),
  status: {
    observedAt: new Date(wallAt(now)).toISOString(),
    gpus: [
      {
        ...{ uuid: uuidOf(seat.index), model: MODEL, healthy: seat.healthy, slots: 1 },
        ...(!seat.healthy && { because: "over its limit" }),
        ...(seat.online && { podUid: serviceUidOf(seat.index), served: true, starting: false }),
        memoryBytes: seat.freeMemoryGB * 2 ** 30,
        activeShare: statedLoad(seat.load),
      },
    ],
  },
});
