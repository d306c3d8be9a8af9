// How much later a high pod starts because of Cotenant's webhook: the time that the API server takes to create it where the
// webhook is asked, and where it is not (a namespace that is left out), in turns; then with a webhook that hangs, and with
// none that answers. On a real control plane. Admission is all that Cotenant adds to a high pod's start.
// Usage: npx tsx bench/kubernetes/start.ts [--pods 60]
import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { dateNow } from "#core";
import { asAdministrator } from "../../test/kubernetes/agents.ts";
import { type Cluster, startCluster } from "../../test/kubernetes/cluster.ts";
import { installCotenant } from "../../test/kubernetes/cotenant.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { programFolders } from "../../test/kubernetes/programs.ts";
import { installWebhook } from "../../test/kubernetes/webhook.ts";

const { values } = parseArgs({ options: { pods: { type: "string", default: "60" } } });
const count = Number(values.pods);
/** It takes a second each time. */
const HUNG = 10;
const PRIVILEGED = "pod-security.kubernetes.io/enforce=privileged";
const rounded = (n: number): number => Math.round(10 * n) / 10;

async function measure(cluster: Cluster): Promise<object> {
  await installCotenant(cluster);
  const webhook = await installWebhook(cluster);
  for (const [name, ...labels] of [
    ["asked", PRIVILEGED],
    ["left-out", PRIVILEGED, "cotenant.io/excluded=yes"],
  ] as const) {
    await cluster.ask(["create", "namespace", name]);
    await cluster.ask(["label", "namespace", name, ...labels]);
    await cluster.ask([
      ...["wait", "--for=create", "--timeout=300s", "serviceaccount/default", "-n", name],
    ]);
  }
  const api = asAdministrator(cluster);
  let n = 0;
  const timed = async (namespace: string): Promise<number> => {
    const { metadata, ...pod } = made.asObject(made.high());
    const begin = performance.now();
    await api.create(`/api/v1/namespaces/${namespace}/pods`, {
      ...pod,
      metadata: { ...metadata, name: `serve-${n++}` },
    });
    return performance.now() - begin;
  };
  /** In turns, so that what else the machine does meets both. */
  const compared = async (pods: number) => {
    const asked: number[] = [];
    const leftOut: number[] = [];
    for (let i = 0; i < pods; i++) {
      leftOut.push(await timed("left-out"));
      asked.push(await timed("asked"));
    }
    const later = asked.map((ms, i) => ms - (leftOut[i] ?? 0));
    return { pods, asked: spreadOf(asked), leftOut: spreadOf(leftOut), later: spreadOf(later) };
  };
  // Connections are opened with the first.
  await compared(3);
  const up = await compared(count);
  const resume = webhook.pause();
  const hung = await compared(HUNG);
  resume();
  await webhook.stop();
  const away = await compared(HUNG);
  return {
    date: dateNow(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/kubernetes/start.ts --pods ${count}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(rounded) },
    milliseconds: { up, hung, away },
  };
}

function spreadOf(all: readonly number[]): object {
  const sorted = [...all].sort((a, b) => a - b);
  const at = (q: number) =>
    rounded(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN);
  return { median: at(0.5), p90: at(0.9), largest: at(1) };
}

const cluster = await startCluster(programFolders(false));
try {
  console.log(JSON.stringify(await measure(cluster), null, 2));
} finally {
  await cluster.stop();
}
