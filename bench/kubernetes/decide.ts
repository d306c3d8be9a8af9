// How long the manager takes to decide for a whole cluster, and how much memory that takes: the real decision on a cluster
// that is made up in the process, so without an API server.
// Usage: node --expose-gc --import tsx bench/kubernetes/decide.ts [--nodes 1000] [--gpus 8] [--pods 20000]
import { execFileSync } from "node:child_process";
import { cpus, loadavg } from "node:os";
import { parseArgs } from "node:util";
import { dateNow, wallNow } from "#core";
import {
  type ClusterSnapshot,
  forecasts,
  type Pairing,
  type Pod,
  pairingChanges,
  plan,
  policyOf,
  tries,
} from "#kubernetes";
import { learning } from "#place";
import { claimOf, madeUp } from "./generate.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000" },
    gpus: { type: "string", default: "8" },
    pods: { type: "string", default: "20000" },
  },
});
const size = {
  nodes: Number(values.nodes),
  gpus: Number(values.gpus),
  pods: Number(values.pods),
};
const now = wallNow();
const made = madeUp(size, now);
const seen = (differences: Partial<ClusterSnapshot> = {}): ClusterSnapshot => ({
  ...made,
  ...{
    now,
    wallNow: now,
    policy: { ...policyOf([]), serviceAgeSeconds: 0 },
    claims: [],
    pairings: [],
  },
  forecasts: forecasts(undefined, [], learning()),
  heardAt: () => now,
  avoided: () => [],
  ...{
    failedOn: () => [],
    trials: () => new Map(),
    losing: new Map(),
    refused: new Map(),
    crowded: new Map(),
    sharers: new Map(),
    serviceBytes: () => undefined,
    slowed: () => [],
    volumeDemand: () => ({ places: [], problem: undefined }),
    kept: [],
  },
  refusal: () => undefined,
  ...differences,
});

const isWaiting = ({ spec }: Pod): boolean => (spec.schedulingGates?.length ?? 0) > 0;

/** CPU seconds and wall-clock seconds of a decision, and what it decides. */
function timed<T>(decide: () => T) {
  const [cpu, wall] = [process.cpuUsage(), performance.now()];
  const result = decide();
  const { user, system } = process.cpuUsage(cpu);
  return {
    result,
    cpuSeconds: round((user + system) / 1e6),
    seconds: round((performance.now() - wall) / 1000),
  };
}

const round = (n: number): number => Math.round(n * 1000) / 1000;

// All wait, as after a long outage: the largest decision there can be.
const first = timed(() => plan(seen()));
const claims = first.result.actions.flatMap((one) =>
  one.kind === "claim" ? [claimOf(one.pod, one.node, one.gpu, now)] : [],
);
const matched = new Map(
  first.result.actions.map((one) => [one.pod.metadata.uid, one.node] as const),
);
const pods = made.pods.map((pod) => {
  const nodeName = matched.get(pod.metadata.uid);
  if (nodeName === undefined) return pod;
  const { schedulingGates: _, ...spec } = pod.spec;
  return { ...pod, spec: { ...spec, nodeName }, status: { phase: "Running" } };
});
// An hour later a part of them has ended, and the rest runs.
const ended = new Set(claims.filter((_, i) => i % 50 === 0).map(({ metadata }) => metadata.name));
const later = seen({
  pods: pods.filter((pod) => !ended.has(pod.spec.resourceClaims?.[0]?.resourceClaimName ?? "")),
  claims: claims.filter(({ metadata }) => !ended.has(metadata.name)),
});
const usual = timed(() => plan(later));
const pairing = timed(() => pairingChanges(later));
// The same with all pods movable and measured, each a workload of its own: what moves add.
const tried = tries();
const measured = {
  ...later,
  pods: [...later.pods].map((pod): Pod => {
    const annotations = { ...pod.metadata.annotations, "cotenant.io/move-cost": "5min" };
    return isWaiting(pod) ? pod : { ...pod, metadata: { ...pod.metadata, annotations } };
  }),
  pairings: [...later.claims].map((claim, i): Pairing => {
    const { name, annotations = {} } = claim.metadata;
    const gpu = annotations["cotenant.io/gpu"] ?? "";
    return {
      metadata: { ...claim.metadata, name },
      spec: {
        ...{ pod: name, service: "", node: "", gpu, share: 1 },
        predicted: { retained: 1, from: "turns" },
      },
      status: { measured: { retained: 0.1 + ((i * 7) % 10) / 20 } },
    };
  }),
};
tried.observe(measured);
const moving = timed(() => plan({ ...measured, trials: tried.of }));
globalThis.gc?.();
const { heapUsed, rss } = process.memoryUsage();
console.log(
  JSON.stringify(
    {
      date: dateNow(),
      commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
      command: "node --expose-gc --import tsx bench/kubernetes/decide.ts",
      machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(round) },
      ...size,
      all: {
        ...{ cpuSeconds: first.cpuSeconds, seconds: first.seconds },
        ...{ matched: claims.length, waiting: first.result.waits.length },
      },
      usual: {
        ...{ cpuSeconds: usual.cpuSeconds, seconds: usual.seconds },
        ...{ matched: usual.result.actions.length, waiting: usual.result.waits.length },
      },
      movable: {
        ...{ cpuSeconds: moving.cpuSeconds, seconds: moving.seconds },
        losing: moving.result.noted.losing.size,
      },
      pairings: { cpuSeconds: pairing.cpuSeconds, seconds: pairing.seconds },
      memoryMB: { heap: Math.round(heapUsed / 1e6), process: Math.round(rss / 1e6) },
    },
    null,
    2,
  ),
);
