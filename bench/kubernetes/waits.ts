// How long a best-effort pod waits for whom, on a real control plane whose nodes kwok plays: from its creation until its gate
// is gone (webhook, manager), and from then until it has its node (the scheduler). First single pods, while nothing else
// waits; then many at once, with the CPU time that the scheduler and the manager took. Times are those at which a watch tells
// of a change.
// Usage: npx tsx bench/kubernetes/waits.ts [--nodes 100] [--pods 1000] [--single 10]
import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { dateNow } from "#core";
import { watched } from "#kubernetes";
import { until } from "../../test/kubernetes/cluster.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { cpuSecondsOf, residentMegabytes } from "./counts.ts";
import { type Served, withServices } from "./served.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "100" },
    pods: { type: "string", default: "1000" },
    single: { type: "string", default: "10" },
  },
});
/** As a SharingPolicy has it by default. */
const INTERVAL_S = 5;
/** Single pods are created at other times of the interval each. */
const BETWEEN_MS = 1700;
const MANY_WITHIN_MS = 3_600_000;

interface Listed {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string; readonly schedulingGates?: readonly object[] };
}

interface Times {
  created?: number;
  released?: number;
  scheduled?: number;
}

async function measure({ cluster, api, manager, gpus }: Served): Promise<object> {
  const end = new AbortController();
  let watchedFor = "train-single";
  const times = new Map<string, Times>();
  const keep = (pod: Listed): Listed => {
    if (pod.metadata.labels?.app?.startsWith(watchedFor)) {
      const seen = times.get(pod.metadata.uid) ?? {};
      times.set(pod.metadata.uid, seen);
      const now = performance.now();
      seen.created ??= now;
      if (!pod.spec.schedulingGates?.length) seen.released ??= now;
      if (pod.spec.nodeName !== undefined) seen.scheduled ??= now;
    }
    return { metadata: pod.metadata, spec: {} };
  };
  watched<Listed>(api, { path: "/api/v1/namespaces/default/pods", keep }, end.signal, () => {});
  const start = async (name: string, count: number) =>
    void (await api.create(
      "/apis/batch/v1/namespaces/default/jobs",
      made.jobOf(made.bestEffort(), name, count),
    ));
  const scheduled = () => [...times.values()].filter((one) => one.scheduled !== undefined).length;

  const single = Number(values.single);
  for (let n = 0; n < single; n++) {
    await start(`${watchedFor}-${n}`, 1);
    await until("it is scheduled", [], async () => scheduled() === n + 1);
    await pause(BETWEEN_MS);
  }
  const unloaded = spreadOf([...times.values()]);
  times.clear();
  watchedFor = "train-many";

  const count = Number(values.pods);
  const processes = {
    scheduler: cluster.pidOf("kube-scheduler"),
    manager: manager.pid,
    apiServer: cluster.pidOf("kube-apiserver"),
  };
  const before = cpuOf(processes);
  const began = performance.now();
  await start(watchedFor, count);
  await until("all are scheduled", [], async () => scheduled() === count, MANY_WITHIN_MS);
  const seconds = (performance.now() - began) / 1000;
  const after = cpuOf(processes);
  end.abort();
  return {
    date: dateNow(),
    commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
    command: `npx tsx bench/kubernetes/waits.ts --nodes ${values.nodes} --pods ${values.pods} --single ${values.single}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(rounded) },
    ...{ nodes: Number(values.nodes), gpus, intervalSeconds: INTERVAL_S },
    /** In memory at the end, of itself and shared. */
    managerMB: residentMegabytes(manager.pid),
    unloaded: { pods: single, ...unloaded },
    many: {
      ...{ pods: count, seconds: rounded(seconds), ...spreadOf([...times.values()]) },
      cpuMillisecondsAPod: Object.fromEntries(
        Object.entries(after).map(([name, s]) => [
          name,
          rounded((1000 * (s - (before[name] ?? 0))) / count),
        ]),
      ),
    },
  };
}

const rounded = (n: number): number => Math.round(1000 * n) / 1000;

/** Seconds: median and largest, until the gate is gone, and from then until there is a node. */
function spreadOf(all: readonly Times[]): object {
  const of = (pick: (one: Times) => number) => {
    const sorted = all.map(pick).sort((a, b) => a - b);
    return {
      median: rounded((sorted[Math.floor(sorted.length / 2)] ?? Number.NaN) / 1000),
      largest: rounded((sorted.at(-1) ?? Number.NaN) / 1000),
    };
  };
  return {
    untilReleased: of(({ created = 0, released = 0 }) => released - created),
    scheduler: of(({ released = 0, scheduled = 0 }) => scheduled - released),
  };
}

/** Seconds of CPU that processes have taken. */
const cpuOf = (processes: Readonly<Record<string, number>>): Record<string, number> =>
  Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, cpuSecondsOf(pid)]));

console.log(
  JSON.stringify(
    await withServices(Number(values.nodes), ["--interval", `${INTERVAL_S}s`], measure),
    null,
    2,
  ),
);
