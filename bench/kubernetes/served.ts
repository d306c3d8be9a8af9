// A control plane with Cotenant, nodes that kwok plays, and a service on each of their GPUs, for measurements.
import { asAdministrator, startAgents } from "../../test/kubernetes/agents.ts";
import { type Cluster, startCluster, until } from "../../test/kubernetes/cluster.ts";
import { installCotenant } from "../../test/kubernetes/cotenant.ts";
import { type Manager, startManager } from "../../test/kubernetes/manager.ts";
import { addNodes } from "../../test/kubernetes/nodes.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { programFolders } from "../../test/kubernetes/programs.ts";
import { installWebhook, type Webhook } from "../../test/kubernetes/webhook.ts";

const GPUS = 8;
const GIB = 2 ** 30;
/** Before services are listed again. */
const LOOK_AGAIN_MS = 1000;

export interface Served {
  readonly cluster: Cluster;
  readonly webhook: Webhook;
  readonly manager: Manager;
  readonly api: ReturnType<typeof asAdministrator>;
  readonly gpus: number;
}

/** `args`: more for the manager. What its nodes observe is told once more before `measure`, and then on. */
export async function withServices<T>(
  nodes: number,
  args: readonly string[],
  measure: (served: Served) => Promise<T>,
): Promise<T> {
  const cluster = await startCluster(programFolders(false));
  const stops: (() => unknown)[] = [];
  try {
    const names = Array.from({ length: nodes }, (_, n) => `node-${n}`);
    const uuidsOf = (node: string) => Array.from({ length: GPUS }, (_, g) => `GPU-${node}-${g}`);
    await installCotenant(cluster);
    const webhook = await installWebhook(cluster);
    stops.push(webhook.stop);
    await addNodes(cluster, names, { gpus: GPUS });
    const api = asAdministrator(cluster);
    const agents = await startAgents(api, new Map(names.map((node) => [node, uuidsOf(node)])));
    stops.push(agents.stop);
    const replicas = nodes * GPUS;
    const services = made.controllerOf("Deployment", made.high(), "serve");
    await api.create("/apis/apps/v1/namespaces/default/deployments", {
      ...services,
      spec: { ...services.spec, replicas },
    });
    let serving: readonly Running[] = [];
    await until("services run", [], async () => {
      await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
      serving = await runningOf(api, "serve");
      return serving.length === replicas;
    });
    for (const node of names) {
      const uids = serving
        .filter(({ spec }) => spec.nodeName === node)
        .map(({ metadata }) => metadata.uid);
      await agents.observe(
        node,
        uuidsOf(node).map((uuid, g) => ({
          ...{ uuid, model: "none", healthy: true, slots: 2, memoryBytes: 25 * GIB },
          activeShare: 0.3,
          ...(uids[g] !== undefined && { podUid: uids[g] }),
        })),
      );
    }
    const manager = await startManager(cluster, args);
    stops.push(manager.stop);
    await until("it decides", [], async () => manager.log().includes("decides"));
    return await measure({ cluster, webhook, manager, api, gpus: replicas });
  } finally {
    for (const stop of stops.reverse()) await stop();
    await cluster.stop();
  }
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
