// A cluster of full size on a real control plane, whose nodes kwok plays: thousands of services, and Jobs of many best-effort
// pods in 40 namespaces. All pods wait when the manager starts. How long do its decisions take, how much memory does it have,
// and how many writes and how much CPU time does a pod cost whom? It ends when nothing is matched any more, or when the
// minutes are over: then the figures a pod are those of the pods that have their nodes.
// Usage: npx tsx bench/kubernetes/size.ts [--nodes 1000] [--pods 20000] [--minutes 25]
import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { dateNow } from "#core";
import { type Api, names as labels, type Pod } from "#kubernetes";
import { someAtOnce } from "../../test/kubernetes/agents.ts";
import { until } from "../../test/kubernetes/cluster.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { cpuSecondsOf, residentMegabytes, writesOf } from "./counts.ts";
import { type Unmanaged, withoutManager } from "./served.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000" },
    pods: { type: "string", default: "20000" },
    minutes: { type: "string", default: "25" },
  },
});
const INTERVAL_S = 5;
const NAMESPACES = 40;
/** Kubernetes' defaults of 20 and 50 would let the controllers of Jobs make 20 pods a second. */
const REQUESTS_PER_SECOND = 500;
/** A busy machine renews them late, and nodes that are taken for dead cost more than what is measured. */
const LEASE_S = 1200;
/** As the node part does. */
const AGENTS_EACH_MS = 15_000;
const LOOK_EACH_MS = 10_000;
/** The manager starts by then, with as many pods as there are. */
const LEFT_FOR_MATCHING_S = 480;
/** As long as it takes a manager to match again what the scheduler could not place. */
const STILL_LOOKS = 12;
/** Pods that wait are to be told why within five minutes; those who missed that are looked at twice more. */
const TOLD_AFTER_S = [300, 420, 600];

const pods = Number(values.pods);
const began = performance.now();
const secondsLeft = () => 60 * Number(values.minutes) - (performance.now() - began) / 1000;
const rounded = (n: number): number => Math.round(1000 * n) / 1000;

/** How many pods of these namespaces have no node, and how many of them know why. */
async function toldIn(api: Api, namespaces: readonly string[]): Promise<object> {
  let waiting = 0;
  let told = 0;
  for (const name of namespaces) {
    const { items } = await api.list<Pod>(`/api/v1/namespaces/${name}/pods`);
    const wait = items.filter(({ spec }) => spec.nodeName === undefined);
    waiting += wait.length;
    told += wait.filter(({ status }) =>
      status.conditions?.some(({ type }) => type === labels.MATCHED_CONDITION),
    ).length;
  }
  return { waiting, told };
}

async function measure(served: Unmanaged): Promise<object> {
  const { cluster, api, gpus } = served;
  const names = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"];
  const cpu = () =>
    Object.fromEntries(names.map((name) => [name, cpuSecondsOf(cluster.pidOf(name))]));
  const now = async () => ({
    ...{ at: performance.now(), cpu: cpu(), writes: await writesOf(cluster) },
  });
  const say = (what: string) =>
    console.error(`${Math.round((performance.now() - began) / 1000)} s: ${what}`);
  const start = await now();
  say(`${gpus} services run`);

  const teams = Array.from({ length: NAMESPACES }, (_, n) => `team-${n}`);
  await someAtOnce(teams, async (name) => {
    await api.create("/api/v1/namespaces", {
      ...{ apiVersion: "v1", kind: "Namespace", metadata: { name } },
    });
  });
  // Pods need the service account, which a controller makes.
  await someAtOnce(teams, (name) =>
    until(`${name} has its service account`, [], async () => {
      return (await api.find(`/api/v1/namespaces/${name}/serviceaccounts/default`)) !== undefined;
    }),
  );
  await someAtOnce(teams, (name) =>
    api.create(
      `/apis/batch/v1/namespaces/${name}/jobs`,
      made.jobOf(made.bestEffort(), "train", pods / NAMESPACES),
    ),
  );
  const since = (before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>) =>
    new Map([...after].map(([what, n]) => [what, n - (before.get(what) ?? 0)]));
  const created = async () => since(start.writes, (await now()).writes).get("pods POST") ?? 0;
  for (;;) {
    const count = await created();
    say(`${count} pods were created`);
    if (count >= pods || secondsLeft() < LEFT_FOR_MATCHING_S) break;
    await pause(LOOK_EACH_MS);
  }
  const waiting = await now();

  await served.tell();
  const manager = await served.startManager(["--interval", `${INTERVAL_S}s`]);
  const managed = await now();
  let still = 0;
  let placed = 0;
  let last = managed;
  const told: object[] = [];
  while (still < STILL_LOOKS && secondsLeft() > 0) {
    await pause(LOOK_EACH_MS);
    last = await now();
    const seconds = (last.at - managed.at) / 1000;
    if (seconds >= (TOLD_AFTER_S[told.length] ?? Number.POSITIVE_INFINITY)) {
      told.push({ afterSeconds: Math.round(seconds), ...(await toldIn(api, teams)) });
    }
    const done = since(managed.writes, last.writes);
    const before = placed;
    placed = done.get("pods binding POST") ?? 0;
    still = placed === before && placed > 0 ? still + 1 : 0;
    say(
      `${done.get("resourceclaims POST") ?? 0} claims, ${placed} pods have their node, the manager has ${residentMegabytes(manager.pid)} MB`,
    );
  }
  const decisions = [
    ...manager.log().matchAll(/decided in (\S+) s: (\d+) pods are matched, (\d+) wait/g),
  ].map(([, seconds, matched, wait]) => ({
    ...{ seconds: Number(seconds), matched: Number(matched), waiting: Number(wait) },
  }));
  const each = (writes: ReadonlyMap<string, number>, count: number) =>
    Object.fromEntries(
      [...writes]
        .filter(
          ([what]) =>
            !/leases|gpunodes|nodes |namespaces|jobs|configmaps|serviceaccounts/.test(what),
        )
        .map(([what, n]) => [what, Math.round((100 * n) / count) / 100] as const)
        .filter(([, n]) => n >= 0.05),
    );
  const creation = each(since(start.writes, waiting.writes), await created());
  const match = each(since(waiting.writes, last.writes), placed);
  const sum = (all: Readonly<Record<string, number>>) =>
    Math.round(100 * Object.values(all).reduce((total, n) => total + n, 0)) / 100;
  const milliseconds = (from: typeof start, to: typeof start, count: number) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        rounded((1000 * ((to.cpu[name] ?? 0) - (from.cpu[name] ?? 0))) / count),
      ]),
    );
  return {
    date: dateNow(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/kubernetes/size.ts --nodes ${values.nodes} --pods ${values.pods} --minutes ${values.minutes}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(rounded) },
    ...{ nodes: Number(values.nodes), gpus, intervalSeconds: INTERVAL_S },
    requestsPerSecond: REQUESTS_PER_SECOND,
    seconds: {
      services: Math.round((start.at - began) / 1000),
      creation: Math.round((waiting.at - start.at) / 1000),
      matching: Math.round((last.at - managed.at) / 1000),
    },
    ...{ created: await created(), placed, isWhole: still >= STILL_LOOKS },
    decisions,
    told,
    managerMB: {
      now: residentMegabytes(manager.pid),
      most: residentMegabytes(manager.pid, "most"),
    },
    managerCpuMillisecondsAPod: rounded((1000 * cpuSecondsOf(manager.pid)) / placed),
    writesAPod: { creation: sum(creation), match: sum(match), byKind: { creation, match } },
    cpuMillisecondsAPod: {
      creation: milliseconds(start, waiting, await created()),
      match: milliseconds(managed, last, placed),
    },
    residentMB: Object.fromEntries(
      names.map((name) => [name, residentMegabytes(cluster.pidOf(name))]),
    ),
  };
}

console.log(
  JSON.stringify(
    await withoutManager(Number(values.nodes), measure, {
      ...{
        requestsPerSecond: REQUESTS_PER_SECOND,
        agentsEachMs: AGENTS_EACH_MS,
        leaseSeconds: LEASE_S,
      },
    }),
    null,
    2,
  ),
);
