// Tells the API server of the GPUs of nodes, as the nodes' agents do: devices once, and what is observed again and again.
import { setTimeout as pause } from "node:timers/promises";
import { type Api, accessFromKubeconfig, connect } from "#kubernetes";
import type { Cluster } from "./cluster.ts";
import { gpuSlice } from "./objects.ts";

/** As deploy/kubernetes has it in the status of a GPUNode. */
export interface Observed {
  readonly uuid: string;
  readonly model: string;
  readonly healthy: boolean;
  readonly slots: number;
  readonly memoryBytes: number;
  readonly activeShare: number;
  readonly podUid?: string;
  readonly serviceBytes?: number;
  readonly starting?: boolean;
}

export interface Agents {
  /** From now on a node's agent tells this of its GPUs. Resolves when it is told. */
  observe(node: string, gpus: readonly Observed[]): Promise<void>;
  /** The last report of a node's agent. */
  told(node: string): readonly Observed[];
  /** The agent of a node tells nothing more. */
  silence(node: string): void;
  stop(): void;
}

/** An agent writes at least so often. */
const EACH_MS = 8000;
const GPU_NODES = "/apis/cotenant.io/v1alpha1/gpunodes";

const AT_ONCE = 8;

/** No test fails because the machine is slow. */
const ANSWER_WITHIN_MS = 300_000;

export const asAdministrator = ({ kubeconfig }: Cluster): Api =>
  connect(accessFromKubeconfig(kubeconfig, undefined, {}), { answerWithinMs: ANSWER_WITHIN_MS });

/** Agents for nodes whose GPUs have these UUIDs. `eachMs`: how often they tell what they observe. */
export async function startAgents(
  api: Api,
  nodes: ReadonlyMap<string, readonly string[]>,
  eachMs = EACH_MS,
): Promise<Agents> {
  const known = new Map<string, readonly Observed[]>();
  const tell = async (node: string) => {
    const status = { observedAt: new Date().toISOString(), gpus: known.get(node) ?? [] };
    await api.mergePlain(`${GPU_NODES}/${node}/status`, { status });
  };
  await someAtOnce([...nodes], async ([node, uuids]) => {
    await api.create("/apis/resource.k8s.io/v1/resourceslices", gpuSlice(node, uuids));
    const metadata = { name: node };
    await api.create(GPU_NODES, { apiVersion: "cotenant.io/v1alpha1", kind: "GPUNode", metadata });
  });
  const end = new AbortController();
  void (async () => {
    while (!end.signal.aborted) {
      await pause(eachMs, undefined, { signal: end.signal }).catch(() => {}); // it was stopped
      // While the API server is away, agents try again.
      await someAtOnce([...known.keys()], (node) => tell(node).catch(() => {}));
    }
  })();
  return {
    async observe(node, gpus) {
      known.set(node, gpus);
      await tell(node);
    },
    told: (node) => known.get(node) ?? [],
    silence: (node) => known.delete(node),
    stop: () => end.abort(),
  };
}

/** Does something with each, some at a time. */
export async function someAtOnce<T>(
  all: readonly T[],
  act: (one: T) => Promise<unknown>,
): Promise<void> {
  const rest = all.values();
  const work = async () => {
    for (const one of rest) await act(one);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
