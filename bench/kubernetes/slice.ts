// Ten minutes of MuxFlow's scenario in real time: jobs are created in a real control plane, whose nodes kwok plays, and what the
// manager and the scheduler of Kubernetes do with them is compared with the manager in the simulator. Both have the same
// model of what pairs do to each other: the simulator runs concurrently with the cluster, takes its placements from there, and tells the
// nodes' agents the loads and what was measured. The data are those of bench/cluster/run.ts.
// Usage: npx tsx bench/kubernetes/slice.ts [--nodes 50] [--minutes 10] [--scenario muxflow-a]
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  type ClusterPlan,
  type Figures,
  type JobView,
  type Order,
  readClusterScenario,
  type SchedulerKind,
  type SeatView,
  simulate,
  simulation,
  type View,
} from "#cluster";
import { dateNow } from "#core";
import { type Watched, watched } from "#kubernetes";
import { managerScheduler } from "#manager";
import { complementShare, statedLoad } from "#place";
import { someAtOnce } from "../../test/kubernetes/agents.ts";
import { until } from "../../test/kubernetes/cluster.ts";
import * as made from "../../test/kubernetes/pods.ts";
import { dataFolder } from "../data.ts";
import { GPUS, type Served, withServices } from "./served.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "50" },
    minutes: { type: "string", default: "10" },
    scenario: { type: "string", default: "muxflow-a" },
  },
});
const nodes = Number(values.nodes);
const SECONDS = 60 * Number(values.minutes);
/** The manager's interval, of which each is a round of the simulator. */
const INTERVAL_S = 5;
/** Seed 1 is left out, as in bench/cluster/run.ts. */
const SEED = 2;
const HOUR = 3600;
/** Assumed retained throughput of a job before the ten minutes. */
const RETAINED_BEFORE = 0.8;
/** The part of the day from which the ten minutes are. */
const [EARLIEST, LATEST] = [2 * HOUR, 12 * HOUR];
const NAMESPACE = "/api/v1/namespaces/default";

/** The scenario for so many GPUs. */
function scaledPlan(gpus: number): ClusterPlan {
  const path = join(import.meta.dirname, `../cluster/scenarios/${values.scenario}.json`);
  const whole = JSON.parse(readFileSync(path, "utf8"));
  const factor = gpus / whole.gpus[0].count;
  const [first, ...others] = whole.services.map((service: { gpus: number }) => ({
    ...service,
    gpus: Math.round(service.gpus * factor),
  }));
  // Rounding must leave each GPU its service.
  first.gpus = others.reduce((left: number, one: { gpus: number }) => left - one.gpus, gpus);
  const text = JSON.stringify({
    ...whole,
    gpus: [{ ...whole.gpus[0], count: gpus }],
    services: [first, ...others],
    jobs: { ...whole.jobs, count: Math.round(whole.jobs.count * factor) },
    schedulers: ["muxflow"],
  });
  const read = (name: string) => readFileSync(name.replace(/^data:/, `${dataFolder}/`), "utf8");
  return readClusterScenario(text, values.scenario, read).plan(SEED);
}

/** The minutes in which most jobs come. */
function busiest({ jobs }: ClusterPlan): number {
  let best = { from: EARLIEST, count: -1 };
  for (let from = EARLIEST; from + SECONDS <= LATEST; from += 60) {
    const count = jobs.filter(
      (one) => one.submitted > from && one.submitted < from + SECONDS,
    ).length;
    if (count > best.count) best = { from, count };
  }
  return best.from;
}

/** These minutes of the plan, with the jobs that ran at their start. No GPU fails. */
function sliceOf(plan: ClusterPlan, from: number): ClusterPlan {
  return {
    ...plan,
    ...{ horizon: SECONDS, atMost: SECONDS, step: INTERVAL_S, interval: INTERVAL_S },
    faults: { ...plan.faults, gpuPerDay: 0 },
    services: plan.services.map((service) =>
      "peakHour" in service.load
        ? { ...service, load: { ...service.load, peakHour: service.load.peakHour - from / HOUR } }
        : service,
    ),
    jobs: plan.jobs.flatMap((job) => {
      if (job.submitted >= from + SECONDS) return [];
      const done = RETAINED_BEFORE * Math.max(0, from - job.submitted);
      if (done >= job.seconds) return [];
      return [
        { ...job, submitted: Math.max(0, job.submitted - from), seconds: job.seconds - done },
      ];
    }),
  };
}

/** The GPUs as schedulers see them at the start. */
function seatsOf(one: ClusterPlan): View["seats"] {
  let found: View["seats"] = [];
  const events = simulation(one, {
    ...{ name: "none", summary: "looks", gangs: false, trigger: "rounds" },
    make: () => ({
      ...{ mechanism: "space", protects: true },
      plan(view) {
        found = view.seats;
        return [];
      },
    }),
  });
  while (found.length === 0 && !events.next().done);
  return found;
}

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly resourceClaims?: readonly {
      readonly name: string;
      readonly resourceClaimName?: string;
    }[];
  };
  readonly status: { readonly phase?: string };
}

interface Claim {
  readonly metadata: Pod["metadata"] & { readonly annotations?: Readonly<Record<string, string>> };
}

interface Pairing {
  readonly metadata: Pod["metadata"];
  readonly spec: { readonly share: number };
  readonly status?: { readonly measured?: { readonly retained?: number } };
}

/** A job's pod that runs, and where. */
interface Placement {
  readonly pod: Pod;
  readonly claim: string;
  readonly seat: number;
}

const uuidOf = (seat: number): string => `GPU-node-${Math.floor(seat / GPUS)}-${seat % GPUS}`;

class RealCluster {
  readonly #served: Served;
  readonly #pods: Watched<Pod>;
  readonly #claims: Watched<Claim>;
  readonly #pairings: Watched<Pairing>;
  readonly #seats: ReadonlyMap<string, number>;
  /** Pods that were ended or evicted here. */
  readonly #gone = new Set<string>();

  constructor(served: Served, signal: AbortSignal) {
    this.#served = served;
    const watch = <T extends Pod | Claim | Pairing>(path: string) =>
      watched<T>(served.api, { path, keep: (one) => one }, signal, () => {});
    this.#pods = watch<Pod>(`${NAMESPACE}/pods?labelSelector=kind%3Dsliced`);
    this.#claims = watch<Claim>("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims");
    this.#pairings = watch<Pairing>("/apis/cotenant.io/v1alpha1/namespaces/default/pairings");
    this.#seats = new Map(Array.from({ length: served.gpus }, (_, seat) => [uuidOf(seat), seat]));
  }

  async create(index: number, { workload }: ClusterPlan["jobs"][number], restart: number) {
    const pod = made.bestEffort();
    pod.metadata.annotations = {
      ...pod.metadata.annotations,
      "cotenant.io/memory": `${Math.max(1, Math.ceil(workload.memoryGB * 1024))}Mi`,
      "cotenant.io/move-cost": `${restart}s`,
    };
    pod.spec.containers = [{ ...made.container("main"), image: workload.name }];
    const job = made.jobOf(pod, `job-${index}`);
    const labels = { app: `job-${index}`, kind: "sliced" };
    const { template } = job.spec;
    await this.#served.api.create("/apis/batch/v1/namespaces/default/jobs", {
      ...job,
      spec: {
        ...job.spec,
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    });
  }

  placements(): ReadonlyMap<number, Placement> {
    const placed = new Map<number, Placement>();
    const claims = new Map([...this.#claims.values()].map((one) => [one.metadata.name, one]));
    for (const pod of this.#pods.values()) {
      const { uid, deletionTimestamp, labels } = pod.metadata;
      const isThere = pod.status.phase === "Running" && deletionTimestamp === undefined;
      if (!isThere || this.#gone.has(uid)) continue;
      const claim = pod.spec.resourceClaims?.[0]?.resourceClaimName ?? "";
      const gpu = claims.get(claim)?.metadata.annotations?.["cotenant.io/gpu"] ?? "";
      const seat = this.#seats.get(gpu);
      if (seat !== undefined)
        placed.set(Number(labels?.app?.slice("job-".length)), { pod, claim, seat });
    }
    return placed;
  }

  /** The SM share in the Pairing. */
  share(claim: string): number | undefined {
    return this.#pairing(claim)?.spec.share;
  }

  /** The job's work is done: its container ends, as kubelet would say. */
  async end({ pod }: Placement): Promise<void> {
    this.#gone.add(pod.metadata.uid);
    const status = { phase: "Succeeded" };
    await this.#served.api.merge(`${NAMESPACE}/pods/${pod.metadata.name}/status`, { status });
  }

  /** SysMonitor has evicted the job. */
  async evict({ pod }: Placement): Promise<void> {
    this.#gone.add(pod.metadata.uid);
    await this.#served.api.remove(`${NAMESPACE}/pods/${pod.metadata.name}`);
  }

  /** A node part writes what it measured when it has changed. */
  async measured(claim: string, retained: number): Promise<void> {
    const before = this.#pairing(claim)?.status?.measured?.retained;
    if (this.#pairing(claim) === undefined) return;
    if (before !== undefined && Math.abs(before - retained) < 0.02) return;
    const path = `/apis/cotenant.io/v1alpha1/namespaces/default/pairings/${claim}/status`;
    const measured = { retained: Math.round(1000 * retained) / 1000, at: new Date().toISOString() };
    await this.#served.api.mergePlain(path, { status: { measured } });
  }

  /** Tells what the agents see, node by node, where it has changed. */
  async observe(seats: readonly { readonly healthy: boolean; readonly activeShare: number }[]) {
    const { agents } = this.#served;
    await someAtOnce(
      Array.from({ length: nodes }, (_, node) => node),
      async (node) => {
        const name = `node-${node}`;
        const told = agents.told(name).map((gpu, g) => ({ ...gpu, ...seats[node * GPUS + g] }));
        if (JSON.stringify(told) !== JSON.stringify(agents.told(name)))
          await agents.observe(name, told);
      },
    );
  }

  #pairing(claim: string): Pairing | undefined {
    return [...this.#pairings.values()].find(({ metadata }) => metadata.name === claim);
  }
}

const activeShareOf = ({ load }: SeatView): number => statedLoad(load);

/** The observation of a GPU by its node's agent. */
const observedOn = (seat: SeatView) => ({
  healthy: seat.healthy,
  activeShare: activeShareOf(seat),
});

/** Orders what the cluster has placed, and says what the cluster is to be told. */
class Follower {
  readonly #cluster: RealCluster;
  #ordered = new Map<number, Placement>();
  /** Writes that are due, in order. */
  #work: Promise<void> = Promise.resolve();
  #rounds = 0;

  constructor(cluster: RealCluster) {
    this.#cluster = cluster;
  }

  readonly kind: SchedulerKind = {
    ...{ name: "cluster", summary: "what a real cluster does", gangs: false, trigger: "once" },
    make: () => ({
      ...{ mechanism: "space", protects: true },
      plan: (view) => this.#plan(view),
      adjust: (seat, job) => this.#share(job, seat),
    }),
  };

  get written(): Promise<void> {
    return this.#work;
  }

  #plan(view: View): readonly Order[] {
    const placed = this.#cluster.placements();
    const jobs = new Map(view.jobs.map((job) => [job.index, job]));
    const ended: Placement[] = [];
    const evicted: Placement[] = [];
    for (const [job, placement] of this.#ordered)
      if (!jobs.has(job)) ended.push(placement);
      else if (jobs.get(job)?.placed === undefined) evicted.push(placement);
    const gone = new Set([...ended, ...evicted].map(({ pod }) => pod.metadata.uid));
    this.#ordered = new Map(
      [...placed].filter(([job, { pod }]) => jobs.has(job) && !gone.has(pod.metadata.uid)),
    );
    const seats = view.seats.map(observedOn);
    const isMinute = this.#rounds++ % (60 / INTERVAL_S) === 0;
    const measured = [...this.#ordered].flatMap(([job, { claim }]) => {
      const retained = jobs.get(job)?.placed?.retained;
      return isMinute && retained !== undefined ? [{ claim, retained }] : [];
    });
    this.#work = this.#work.then(async () => {
      await someAtOnce(ended, (one) => this.#cluster.end(one));
      await someAtOnce(evicted, (one) => this.#cluster.evict(one));
      await this.#cluster.observe(seats);
      await someAtOnce(measured, (one) => this.#cluster.measured(one.claim, one.retained));
    });
    return [...this.#ordered].map(([job, { seat }]) => ({
      ...{ job, seats: [seat] },
      share: this.#shareOf(job, view.seats[seat] as SeatView),
    }));
  }

  #share({ index }: JobView, seat: SeatView): number {
    return this.#shareOf(index, seat);
  }

  #shareOf(job: number, seat: SeatView): number {
    const { claim = "" } = this.#ordered.get(job) ?? {};
    return this.#cluster.share(claim) ?? complementShare(activeShareOf(seat));
  }
}

/** Resolves to the figures, and to the largest delay of an event, in s. */
async function inRealTime(served: Served, plan: ClusterPlan) {
  const end = new AbortController();
  const cluster = new RealCluster(served, end.signal);
  const { restart } = plan.costs;
  await served.api.create("/apis/cotenant.io/v1alpha1/sharingpolicies", {
    ...{ apiVersion: "cotenant.io/v1alpha1", kind: "SharingPolicy" },
    ...{ metadata: { name: "default" }, spec: { podsPerGpu: 1, intervalSeconds: INTERVAL_S } },
  });
  const all = plan.jobs.map((job, index) => ({ job, index }));
  const first = all.filter(({ job }) => job.submitted === 0);
  const create = ({ job, index }: (typeof all)[number]) => cluster.create(index, job, restart);
  await someAtOnce(first, create);
  await until(
    "the first jobs run",
    [],
    async () => cluster.placements().size === first.length,
    3_600_000,
  );
  // Their Pairings follow in the next intervals.
  await pause(3000 * INTERVAL_S);
  const follower = new Follower(cluster);
  const events = simulation(plan, follower.kind);
  const began = performance.now();
  let delay = 0;
  const creations = all
    .filter(({ job }) => job.submitted > 0)
    .map(async (one) => {
      await pause(1000 * one.job.submitted);
      await create(one);
    });
  try {
    for (;;) {
      const { done, value } = events.next();
      if (done) {
        await Promise.all([...creations, follower.written]);
        return { figures: value, delay };
      }
      const early = 1000 * value - (performance.now() - began);
      if (early > 0) await pause(early);
      delay = Math.max(delay, -early / 1000);
    }
  } finally {
    end.abort();
  }
}

const rounded = (n: number): number => Math.round(10_000 * n) / 10_000;

const told = (figures: Figures) => ({
  oversold: rounded(figures.oversold),
  /** Best-effort work, in GPUs. */
  throughput: rounded(figures.series[0]?.throughput ?? 0),
  meanSlowdown: rounded(figures.meanSlowdown),
  p99Slowdown: rounded(figures.p99Slowdown),
  /** Within these minutes. */
  jctMeanSeconds: rounded(figures.jctMean),
  waitingMeanSeconds: rounded(figures.waitingMean),
  ...{ jobs: figures.jobs, finished: figures.finished, starts: figures.starts },
  ...{ moves: figures.moves, evictions: figures.evictions },
});

const whole = scaledPlan(nodes * GPUS);
const from = busiest(whole);
const plan = sliceOf(whole, from);
const simulated = simulate(plan, managerScheduler({}, new Set()));
const seats = seatsOf(plan);
const real = await withServices(
  nodes,
  ["--interval", `${INTERVAL_S}s`],
  (served) => inRealTime(served, plan),
  async (api) => {
    // Whatever is there may be called the controller of a service's pods. Nothing acts on it.
    const names = [...new Set(seats.map(({ online }) => online?.name ?? ""))];
    const owners = new Map<string, object>();
    for (const name of names) {
      const { metadata } = await api.create<Claim>(`${NAMESPACE}/configmaps`, {
        ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: name.replaceAll("_", "-") } },
      });
      const { name: called, uid } = metadata;
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: called, uid, controller: true };
      owners.set(name, owner);
    }
    return (gpu) => {
      const seat = seats[gpu];
      const owner = owners.get(seat?.online?.name ?? "");
      if (seat === undefined || owner === undefined) return {};
      const memoryBytes = seat.freeMemoryGB * 2 ** 30;
      return { owner, observed: { slots: 1, memoryBytes, ...observedOn(seat) } };
    };
  },
);
const figures = { simulated: told(simulated), real: told(real.figures) };
console.log(
  JSON.stringify(
    {
      date: dateNow(),
      commit: execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8" }).trim(),
      command: `npx tsx bench/kubernetes/slice.ts --nodes ${nodes} --minutes ${values.minutes} --scenario ${values.scenario}`,
      machine: { cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg().map(rounded) },
      ...{ gpus: nodes * GPUS, seed: SEED, fromHour: rounded(from / HOUR) },
      largestDelaySeconds: rounded(real.delay),
      ...figures,
      realOverSimulated: Object.fromEntries(
        (["oversold", "throughput", "meanSlowdown", "jctMeanSeconds"] as const).map((name) => [
          name,
          rounded(figures.real[name] / figures.simulated[name]),
        ]),
      ),
    },
    null,
    2,
  ),
);
