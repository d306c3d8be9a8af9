// Nodes that kwok plays.
import type { Cluster } from "./cluster.ts";

export interface NodeOptions {
  /** GPUs that the node has as `nvidia.com/gpu`, as if NVIDIA's device plugin said so. */
  readonly gpus: number;
}

/** As a kubelet registers it; kwok then says that it is ready. */
const nodeNamed = (name: string, { gpus }: NodeOptions) => {
  const capacity = { cpu: "64", memory: "512Gi", pods: "110", "nvidia.com/gpu": String(gpus) };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" } },
    status: { capacity, allocatable: capacity },
  };
};

/** Adds nodes of these names and waits until they are ready. */
export async function addNodes(
  cluster: Cluster,
  names: readonly string[],
  options: NodeOptions,
): Promise<void> {
  const items = names.map((name) => nodeNamed(name, options));
  await cluster.ask(["create", "-f", "-"], { apiVersion: "v1", kind: "List", items });
  const nodes = names.map((name) => `node/${name}`);
  await cluster.ask(["wait", "--for=condition=Ready", "--timeout=300s", ...nodes]);
}
