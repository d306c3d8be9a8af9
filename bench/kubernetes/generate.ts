// A cluster made up: nodes with GPUs, a service on each GPU, and best-effort pods that wait, of several kinds.
import { mulberry32 } from "#core";
import type { Claim, GpuNode, Namespace, Node, Pod } from "#kubernetes";

export interface Size {
  readonly nodes: number;
  readonly gpus: number;
  readonly pods: number;
}

export interface MadeUp {
  readonly namespaces: readonly Namespace[];
  readonly nodes: readonly Node[];
  readonly gpuNodes: readonly GpuNode[];
  readonly pods: readonly Pod[];
}

const GIB = 2 ** 30;
const NAMESPACES = 40;
const ZONES = ["north", "south", "west"];
const MODELS = ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB"];

/** `now`: ms since 1970. The same seed makes the same cluster. */
export function madeUp({ nodes, gpus, pods }: Size, now: number, seed = 1): MadeUp {
  const random = mulberry32(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  let version = 1;
  const metadata = (name: string, namespace = "", annotations: Record<string, string> = {}) => ({
    ...{ name, uid: `uid-${name}`, resourceVersion: `${version++}`, annotations },
    ...(namespace !== "" && { namespace }),
    creationTimestamp: new Date(now - Math.floor(random() * 3600e3)).toISOString(),
  });
  const names = Array.from({ length: NAMESPACES }, (_, i) => `team-${i}`);
  const services: Pod[] = [];
  const all = Array.from({ length: nodes }, (_, n) => {
    const name = `node-${n}`;
    const model = pick(MODELS);
    const observed = Array.from({ length: gpus }, (_, g) => {
      const service: Pod = {
        metadata: metadata(`serve-${n}-${g}`, pick(names), { "cotenant.io/class": "high" }),
        spec: {
          nodeName: name,
          containers: [
            { resources: { limits: { cpu: "4", memory: "16Gi", "nvidia.com/gpu": "1" } } },
          ],
        },
        status: { phase: "Running" },
      };
      services.push(service);
      return {
        uuid: `GPU-${n}-${g}`,
        ...{ model, healthy: random() > 0.01, slots: 2, activeShare: random() * 0.7 },
        memoryBytes: Math.floor((0.3 + 0.6 * random()) * 80) * GIB,
        podUid: service.metadata.uid,
      };
    });
    const labels = { zone: pick(ZONES), "kubernetes.io/hostname": name };
    const node: Node = {
      metadata: { ...metadata(name), labels },
      spec: random() < 0.02 ? { unschedulable: true } : {},
      status: {
        conditions: [{ type: "Ready", status: "True" }],
        allocatable: { cpu: "128", memory: "1024Gi", pods: "110", "nvidia.com/gpu": `${gpus}` },
      },
    };
    const observedAt = new Date(now).toISOString();
    return { node, gpuNode: { metadata: metadata(name), status: { observedAt, gpus: observed } } };
  });
  const waiting = Array.from({ length: pods }, (_, i): Pod => {
    const memory = pick(["8Gi", "16Gi", "24Gi", "40Gi"]);
    const annotations = { "cotenant.io/class": "best-effort", "cotenant.io/memory": memory };
    return {
      metadata: metadata(`train-${i}`, pick(names), annotations),
      spec: {
        ...(random() < 0.3 && { nodeSelector: { zone: pick(ZONES) } }),
        priority: pick([-1000, -1000, -1000, -500]),
        containers: [{ resources: { limits: { cpu: pick(["2", "4", "8"]), memory: "16Gi" } } }],
        schedulingGates: [{ name: "cotenant.io/match" }],
        resourceClaims: [{ name: "cotenant", resourceClaimName: `cotenant-claim-${i}` }],
      },
      status: { phase: "Pending" },
    };
  });
  return {
    namespaces: names.map((name) => ({ metadata: metadata(name) })),
    nodes: all.map(({ node }) => node),
    gpuNodes: all.map(({ gpuNode }) => gpuNode),
    pods: [...services, ...waiting],
  };
}

/** The claim of a match, allocated, as the manager makes it. */
export const claimOf = (pod: Pod, node: string, gpu: string, now: number): Claim => ({
  metadata: {
    name: pod.spec.resourceClaims?.[0]?.resourceClaimName ?? "",
    namespace: pod.metadata.namespace ?? "",
    ...{ uid: `claim-${pod.metadata.uid}`, resourceVersion: "1" },
    creationTimestamp: new Date(now).toISOString(),
    annotations: {
      "cotenant.io/gpu": gpu,
      "cotenant.io/node": node,
      "cotenant.io/memory": pod.metadata.annotations?.["cotenant.io/memory"] ?? "",
      "cotenant.io/matched-at": new Date(now).toISOString(),
    },
    ownerReferences: [{ uid: pod.metadata.uid }],
  },
  spec: { devices: { requests: [{ exactly: { deviceClassName: "cotenant.io" } }] } },
  status: { allocation: {} },
});
