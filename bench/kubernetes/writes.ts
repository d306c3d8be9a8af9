// How many writes to the API server a best-effort pod takes, from its creation until it runs, and by whom: on a real control
// plane, whose nodes kwok plays. What the API server itself counts.
// Usage: npx tsx bench/kubernetes/writes.ts [--nodes 5] [--pods 80]
import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { dateNow } from "#core";
import { until } from "../../test/kubernetes/cluster.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { writesOf } from "./counts.ts";
import { runningOf, type Served, withServices } from "./served.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "5" },
    pods: { type: "string", default: "80" },
  },
});
const count = Number(values.pods);

async function measure({ cluster, api, gpus }: Served): Promise<object> {
  const before = await writesOf(cluster);
  await api.create(
    "/apis/batch/v1/namespaces/default/jobs",
    made.jobOf(made.bestEffort(), "train", count),
  );
  await until("all pods run", [], async () => (await runningOf(api, "train")).length === count);
  const after = await writesOf(cluster);
  const each = [...after]
    .map(([what, n]) => [what, (n - (before.get(what) ?? 0)) / count] as const)
    .filter(([what, n]) => n > 0.05 && !/leases|gpunodes|nodes /.test(what));
  return {
    date: dateNow(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: "npx tsx bench/kubernetes/writes.ts",
    ...{ nodes: Number(values.nodes), gpus, pods: count },
    writesAPod: Math.round(100 * each.reduce((sum, [, n]) => sum + n, 0)) / 100,
    byKind: Object.fromEntries(each.map(([what, n]) => [what, Math.round(100 * n) / 100])),
  };
}

console.log(JSON.stringify(await withServices(Number(values.nodes), [], measure), null, 2));
