// A control plane with Cotenant, nodes that kwok plays, and a service on each of their GPUs, for measurements.
import { watched } from "#kubernetes";
import {
  type Agents,
  asAdministrator,
  type Observed,
  someAtOnce,
  startAgents,
} from "../../test/kubernetes/agents.ts";
import { type Cluster, startCluster, until } from "../../test/kubernetes/cluster.ts";
import { installCotenant } from "../../test/kubernetes/cotenant.ts";
import { type Manager, startManager } from "../../test/kubernetes/manager.ts";
import { addNodes } from "../../test/kubernetes/nodes.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { programFolders } from "../../test/kubernetes/programs.ts";
import { installWebhook, type Webhook } from "../../test/kubernetes/webhook.ts";

export const GPUS = 8;
const GIB = 2 ** 30;
/** Three times kubelet's, so that the API server has less to do for nodes that do nothing. */
const LEASE_S = 120;
/** Thousands of services take their time on a small machine. */
const SERVED_WITHIN_MS = 3_600_000;
const PODS = "/api/v1/namespaces/default/pods";

export interface Unmanaged {
  readonly cluster: Cluster;
  readonly webhook: Webhook;
  readonly api: ReturnType<typeof asAdministrator>;
  readonly agents: Agents;
  readonly gpus: number;
  /** From now on the agents tell what they observe. */
  tell(): Promise<void>;
  /** `args`: more for its command. It is stopped with the rest. */
  startManager(args: readonly string[]): Promise<Manager>;
}

export interface Served extends Unmanaged {
  readonly manager: Manager;
}

/** Differences between GPUs, by their number over all nodes. */
export interface Differences {
  /** Says who its service's controller is, for an object that is there. */
  readonly owner?: object;
  readonly observed?: Partial<Observed>;
}

interface Settings {
  /** Asked once there is an API server. */
  readonly differing?: (api: Unmanaged["api"]) => Promise<(gpu: number) => Differences>;
  readonly requestsPerSecond?: number;
  readonly agentsEachMs?: number;
  readonly leaseSeconds?: number;
}

/** `args`: more for the manager, which decides when `measure` is called. */
export const withServices = <T>(
  nodes: number,
  args: readonly string[],
  measure: (served: Served) => Promise<T>,
  differing?: Settings["differing"],
): Promise<T> =>
  withoutManager(
    nodes,
    async (unmanaged) => {
      await unmanaged.tell();
      return measure({ ...unmanaged, manager: await unmanaged.startManager(args) });
    },
    differing && { differing },
  );

/** The same without a manager, and with agents that tell nothing yet. */
export async function withoutManager<T>(
  nodes: number,
  measure: (unmanaged: Unmanaged) => Promise<T>,
  {
    differing = async () => () => ({}),
    requestsPerSecond,
    agentsEachMs,
    leaseSeconds = LEASE_S,
  }: Settings = {},
): Promise<T> {
  const cluster = await startCluster(programFolders(false), {
    leaseSeconds,
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
  });
  const end = new AbortController();
  const stops: (() => unknown)[] = [];
  try {
    const names = Array.from({ length: nodes }, (_, n) => `node-${n}`);
    const uuidsOf = (node: string) => Array.from({ length: GPUS }, (_, g) => `GPU-${node}-${g}`);
    await installCotenant(cluster);
    const webhook = await installWebhook(cluster);
    stops.push(webhook.stop);
    await addNodes(cluster, names, { gpus: GPUS });
    const api = asAdministrator(cluster);
    const differences = await differing(api);
    const uuids = new Map(names.map((node) => [node, uuidsOf(node)]));
    const agents = await startAgents(api, uuids, agentsEachMs);
    stops.push(agents.stop);
    const serving = watched<Serving>(
      api,
      {
        path: `${PODS}?labelSelector=app%3Dserve`,
        keep: ({ metadata, status }) => ({ metadata, status }),
      },
      end.signal,
      () => {},
    );
    const observed = new Map<string, readonly Observed[]>();
    await someAtOnce(names, async (node) => {
      const told = [];
      for (const [g, uuid] of uuidsOf(node).entries()) {
        const { owner, observed: own } = differences(names.indexOf(node) * GPUS + g);
        const { metadata } = await api.create<Serving>(PODS, serviceOn(node, g, owner));
        told.push({
          ...{ uuid, model: "none", healthy: true, slots: 2, memoryBytes: 25 * GIB },
          ...{ activeShare: 0.3, ...own, podUid: metadata.uid },
        });
      }
      observed.set(node, told);
    });
    const run = async () =>
      [...serving.values()].filter(({ status }) => status.phase === "Running").length ===
      nodes * GPUS;
    await until("services run", [], run, SERVED_WITHIN_MS);
    return await measure({
      ...{ cluster, webhook, api, agents, gpus: nodes * GPUS },
      tell: () => someAtOnce([...observed], ([node, gpus]) => agents.observe(node, gpus)),
      async startManager(args) {
        const manager = await startManager(cluster, args);
        stops.push(manager.stop);
        await until("it decides", [], async () => manager.log().includes("decides"));
        return manager;
      },
    });
  } finally {
    end.abort();
    for (const stop of stops.reverse()) await stop();
    await cluster.stop();
  }
}

interface Serving {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly status: { readonly phase?: string };
}

/** It is made on its node, since how it came there is not measured. */
function serviceOn(node: string, gpu: number, owner?: object): object {
  const pod = made.high();
  pod.metadata.name = `serve-${node}-${gpu}`;
  pod.spec.nodeName = node;
  return made.asObject({
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { app: "serve" },
      ...(owner && { ownerReferences: [owner] }),
    },
  });
}

interface Running {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly nodeName: string };
  readonly status: { readonly phase: string };
}

export const runningOf = async (
  api: ReturnType<typeof asAdministrator>,
  app: string,
): Promise<readonly Running[]> =>
  (
    await api.list<Running>(`/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`)
  ).items.filter(({ status }) => status.phase === "Running");
