// A cluster whose manager matches pods: nodes that kwok plays with a GPU each, their agents, the webhook and the manager.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach } from "vitest";
import { type Agents, asAdministrator, type Observed, startAgents } from "../agents.ts";
import { type Cluster, until } from "../cluster.ts";
import { installCotenant } from "../cotenant.ts";
import { clusterHere } from "../here.ts";
import { type Manager, startManager } from "../manager.ts";
import { addNodes } from "../nodes.ts";
import * as pods from "../pods.ts";
import { installWebhook, type Webhook } from "../webhook.ts";

export const GIB = 2 ** 30;

interface Conditions {
  readonly status: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
}

export const conditionOf = ({ status }: Conditions) =>
  status.conditions?.find(({ type }) => type === "cotenant.io/Matched");

export interface ManagedCluster {
  cluster(): Cluster;
  /** Objects as the API server has them; the words are those of `kubectl get`. */
  // biome-ignore lint/suspicious/noExplicitAny: these are objects of every kind.
  read(...args: string[]): Promise<any>;
  create(object: object, ...args: string[]): Promise<string>;
  // biome-ignore lint/suspicious/noExplicitAny: these are as the API server has them.
  podsOf(job: string): Promise<any>;
  /** Resolves when the pods of a Job run. */
  isScheduled(job: string): Promise<string>;
  /** Starts a service on a node and says what its agent observes. `change`: of the pod. */
  serve(node: string, observed?: object, change?: (pod: pods.Pod) => void): Promise<void>;
  /** Sets the reports of a node's agent on its GPU from now on. */
  observe(node: string, observed: object): Promise<void>;
  /** The last report on the GPU of a node. */
  reportedOn(node: string): Observed | undefined;
  /** Ends the manager; `startManager` starts another one. */
  stopManager(): Promise<void>;
  /** `server`: the address at which it finds the API server. */
  startManager(server?: string): Promise<void>;
  managerLog(): string;
  /** Where the manager's metrics are, and the token of who may read them. */
  metrics(): { readonly url: string; readonly token: string };
}

const METRICS_TOKEN = "of the tests";

/** For all tests of a file. Each test begins without Jobs, pods, claims and Pairings. */
export function managedCluster(nodes: readonly string[] = ["a", "b"]): ManagedCluster {
  let webhook: Webhook | undefined;
  let manager: Manager | undefined;
  let agents: Agents | undefined;
  const cluster = clusterHere(async (started) => {
    await installCotenant(started);
    webhook = await installWebhook(started);
    await addNodes(started, nodes, { gpus: 1 });
    agents = await startAgents(
      asAdministrator(started),
      new Map(nodes.map((node) => [node, [`GPU-${node}`]])),
    );
    const token = join(started.folder, "metrics-token");
    writeFileSync(token, METRICS_TOKEN);
    manager = await startManager(started, [
      ...["--metrics-address", "127.0.0.1:0", "--metrics-token", token],
    ]);
  });
  afterAll(async () => {
    agents?.stop();
    await manager?.stop();
    await webhook?.stop();
  });
  const read = async (...args: string[]) =>
    JSON.parse(await cluster().ask(["get", ...args, "-o", "json"]));
  const create = (object: object, ...args: string[]) =>
    cluster().ask(["create", "-f", "-", ...args], object);
  const podsOf = async (job: string) => (await read("pods", "-l", `app=${job}`)).items;
  const observe = async (node: string, observed: object): Promise<void> =>
    agents?.observe(node, [
      {
        ...{ uuid: `GPU-${node}`, model: "none", healthy: true, slots: 2 },
        ...{ memoryBytes: 40 * GIB, activeShare: 0.3, serviceBytes: GIB, ...observed },
      },
    ]);
  beforeEach(async () => {
    await cluster().ask(["delete", "jobs,pods", "--all", "--wait=true"]);
    await until("no claim and no Pairing is left", [], async () => {
      return (await read("resourceclaims,pairings")).items.length === 0;
    });
    for (const node of nodes) await observe(node, { healthy: false });
  });
  return {
    ...{ cluster, read, create, podsOf, observe },
    async isScheduled(job) {
      await until("there is a pod", [], async () => (await podsOf(job)).length > 0);
      return cluster().ask([
        ...["wait", "--for=jsonpath={.status.phase}=Running", "--timeout=300s"],
        ...["pods", "-l", `app=${job}`],
      ]);
    },
    async serve(node, observed = {}, change = () => {}) {
      const name = `serve-${node}`;
      const pod = pods.high();
      pod.metadata.name = name;
      pod.spec.nodeSelector = { "kubernetes.io/hostname": node };
      change(pod);
      await create(pods.asObject(pod));
      await cluster().ask(["wait", "--for=condition=Ready", "--timeout=300s", `pod/${name}`]);
      const { metadata } = await read("pod", name);
      await observe(node, { podUid: metadata.uid, ...observed });
    },
    reportedOn: (node) => agents?.told(node)[0],
    stopManager: async () => manager?.stop(),
    async startManager(server) {
      manager = await startManager(cluster(), [], undefined, server);
    },
    metrics: () => ({
      url: /metrics are at (\S+)/.exec(manager?.log() ?? "")?.[1] ?? "",
      token: METRICS_TOKEN,
    }),
    managerLog: () => manager?.log() ?? "",
  };
}
