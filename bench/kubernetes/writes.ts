// How many writes to the API server a best-effort pod takes, from its creation until it runs, and by whom: on a real control
// plane, whose nodes kwok plays. What the API server itself counts.
// Usage: npx tsx bench/kubernetes/writes.ts [--nodes 5] [--pods 80]
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { dateNow } from "#core";
import { asAdministrator, startAgents } from "../../test/kubernetes/agents.ts";
import { type Cluster, startCluster, until } from "../../test/kubernetes/cluster.ts";
import { installCotenant } from "../../test/kubernetes/cotenant.ts";
import { startManager } from "../../test/kubernetes/manager.ts";
import { addNodes } from "../../test/kubernetes/nodes.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { programFolders } from "../../test/kubernetes/programs.ts";
import { installWebhook } from "../../test/kubernetes/webhook.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "5" },
    pods: { type: "string", default: "80" },
  },
});
const GPUS = 8;
const GIB = 2 ** 30;
const count = Number(values.pods);
const names = Array.from({ length: Number(values.nodes) }, (_, n) => `node-${n}`);
const uuidsOf = (node: string) => Array.from({ length: GPUS }, (_, g) => `GPU-${node}-${g}`);

async function measure(cluster: Cluster): Promise<object> {
  await installCotenant(cluster);
  const webhook = await installWebhook(cluster);
  await addNodes(cluster, names, { gpus: GPUS });
  const api = asAdministrator(cluster);
  const agents = await startAgents(api, new Map(names.map((node) => [node, uuidsOf(node)])));
  const services = made.controllerOf("Deployment", made.high(), "serve");
  const replicas = names.length * GPUS;
  await api.create("/apis/apps/v1/namespaces/default/deployments", {
    ...services,
    spec: { ...services.spec, replicas },
  });
  const running = async (app: string) =>
    (
      await api.list<{
        readonly metadata: { readonly uid: string };
        readonly spec: { readonly nodeName: string };
        readonly status: { readonly phase: string };
      }>(`/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`)
    ).items.filter(({ status }) => status.phase === "Running");
  await until("services run", [], async () => (await running("serve")).length === replicas);
  const serving = await running("serve");
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
  const manager = await startManager(cluster);
  await until("it decides", [], async () => manager.log().includes("decides"));
  agents.stop();
  const before = await writes(cluster);
  await api.create(
    "/apis/batch/v1/namespaces/default/jobs",
    made.jobOf(made.bestEffort(), "train", count),
  );
  await until("all pods run", [], async () => (await running("train")).length === count);
  const after = await writes(cluster);
  await manager.stop();
  await webhook.stop();
  const each = [...after]
    .map(([what, n]) => [what, (n - (before.get(what) ?? 0)) / count] as const)
    .filter(([what, n]) => n > 0.05 && !/leases|gpunodes|nodes /.test(what));
  return {
    date: dateNow(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: "npx tsx bench/kubernetes/writes.ts",
    ...{ nodes: names.length, gpus: replicas, pods: count },
    writesAPod: Math.round(100 * each.reduce((sum, [, n]) => sum + n, 0)) / 100,
    byKind: Object.fromEntries(each.map(([what, n]) => [what, Math.round(100 * n) / 100])),
  };
}

/** Writes until now, by resource and verb. */
async function writes(cluster: Cluster): Promise<ReadonlyMap<string, number>> {
  const text = await cluster.ask(["get", "--raw=/metrics"]);
  const counts = new Map<string, number>();
  for (const [, labels = "", n = ""] of text.matchAll(
    /^apiserver_request_total\{(.*?)\} (\S+)$/gm,
  )) {
    const of = (name: string) => new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
    if (!["POST", "PUT", "PATCH", "DELETE", "APPLY"].includes(of("verb"))) continue;
    const what = [of("resource"), of("subresource"), of("verb")].filter(Boolean).join(" ");
    counts.set(what, (counts.get(what) ?? 0) + Number(n));
  }
  return counts;
}

async function main(): Promise<void> {
  const cluster = await startCluster(programFolders(false));
  try {
    console.log(JSON.stringify(await measure(cluster), null, 2));
  } finally {
    await cluster.stop();
  }
}

await main();
