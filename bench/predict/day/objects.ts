// Objects of a simulated cluster as the manager keeps them: one GPU a node, one service on each, and jobs.
import { type Claim, type GpuNode, type Node, names, type Pod } from "#kubernetes";
import { statedLoad } from "#place";

export const MODEL = "Simulated GPU";
export const NAMESPACE = "simulated";
const EPOCH = Date.parse("2026-01-05T00:00:00Z");
const BEFORE = "2025-12-01T00:00:00Z";
const GIB = 2 ** 30;

/** ms since 1970. `at`: s of the day. */
export const wallAt = (at: number): number => EPOCH + 1000 * at;
export const timeAt = (at: number): string => new Date(wallAt(at)).toISOString();

const uuidOf = (gpu: number): string => `GPU-${gpu}`;
const workloadOfService = (service: number): string => `service ${service}`;
const workloadOfJob = (job: number): string => `job ${job}`;

const metadata = (name: string, created: string, annotations: Record<string, string> = {}) => ({
  ...{ name, namespace: NAMESPACE, uid: name, resourceVersion: "1", annotations },
  creationTimestamp: created,
});
/** Without an image the workload of a pod is its controller. */
const ownedBy = (uid: string) => [{ uid, controller: true }];

export const namespaceObject = { metadata: metadata(NAMESPACE, BEFORE) };

export const nodeObject = (gpu: number): Node => ({
  metadata: metadata(`node-${gpu}`, BEFORE),
  spec: {},
  status: {
    conditions: [{ type: "Ready", status: "True" }],
    allocatable: { cpu: "64", memory: "512Gi", pods: "110" },
  },
});

export const serviceObject = (gpu: number, service: number): Pod => ({
  metadata: {
    ...metadata(`service-${gpu}`, BEFORE, { [names.CLASS_ANNOTATION]: "high" }),
    ownerReferences: ownedBy(workloadOfService(service)),
  },
  spec: { nodeName: `node-${gpu}` },
  status: {
    phase: "Running",
    conditions: [{ type: "Ready", status: "True", lastTransitionTime: BEFORE }],
  },
});

export const claimNameOf = (pod: string): string => `claim-of-${pod}`;

/** `gpu`: where it runs; undefined while it waits. */
export const jobObject = (
  name: string,
  job: number,
  created: number,
  gpu: number | undefined,
): Pod => ({
  metadata: {
    ...metadata(name, timeAt(created), {
      [names.CLASS_ANNOTATION]: "best-effort",
      [names.MEMORY_ANNOTATION]: "10Gi",
    }),
    ownerReferences: ownedBy(workloadOfJob(job)),
  },
  spec: {
    resourceClaims: [{ name: names.CLAIM_IN_POD, resourceClaimName: claimNameOf(name) }],
    ...(gpu === undefined
      ? { schedulingGates: [{ name: names.MATCH_GATE }] }
      : { nodeName: `node-${gpu}` }),
  },
  status: { phase: gpu === undefined ? "Pending" : "Running" },
});

/** `made`: what the manager creates. */
export const claimObject = (made: object, pod: string, at: number): Claim => {
  const { metadata: own } = made as Claim;
  return {
    ...(made as Claim),
    metadata: { ...own, ...metadata(claimNameOf(pod), timeAt(at), { ...own.annotations }) },
    status: { allocation: {} },
  };
};

export const gpuNodeObject = (gpu: number, load: number, at: number): GpuNode => ({
  metadata: metadata(`node-${gpu}`, BEFORE),
  status: {
    observedAt: timeAt(at),
    gpus: [
      {
        ...{ uuid: uuidOf(gpu), model: MODEL, healthy: true, slots: 1, memoryBytes: 60 * GIB },
        ...{ activeShare: statedLoad(load), podUid: `service-${gpu}`, served: true },
        starting: false,
      },
    ],
  },
});
