// The manager's own decisions as a scheduler of the simulated cluster. The cluster is described by objects as an API server
// holds them, which the manager's readers reduce, its sampler samples and its `plan` decides about. Its claims and moves are
// ordered, with the shares of the Pairings that it makes.
import {
  type JobView,
  type Moment,
  type Order,
  pairForecast,
  type Scheduler,
  type SchedulerKind,
  statedBytes,
  type View,
  type Workload,
} from "#cluster";
import {
  claimFor,
  type PairForecasts,
  type PolicySpec,
  pairingChanges,
  pairingWrite,
  plan,
  policyOf,
  samplerOf,
} from "#kubernetes";
import {
  claimNameOf,
  claimObject,
  gpuNodeObject,
  jobObject,
  namespaceObject,
  nodeObject,
  pairingObject,
  podNameOf,
  podUidOf,
  profileObject,
  serviceObject,
  uuidOf,
  wallAt,
} from "./objects.ts";
import { newStore } from "./store.ts";

/**
 * `policy`: what differs from the defaults. Only one job shares a GPU, as in MuxFlow. `profiled`: the workloads that have a
 * profile; of the others the manager knows the turn bound, and what was measured. By default all have one. `moveCosts`: the
 * workloads whose jobs may be moved, and what that costs one, s. By default all may, for what a start costs.
 */
export const managerScheduler = (
  policy: Partial<PolicySpec> = {},
  profiled?: ReadonlySet<string>,
  moveCosts?: ReadonlyMap<string, number>,
): SchedulerKind => ({
  name: "manager",
  summary: "what Cotenant's manager decides in a Kubernetes cluster",
  gangs: false,
  trigger: "once",
  make: () => schedulerBy({ ...policyOf([]), ...policy, podsPerGpu: 1 }, { profiled, moveCosts }),
});

/** Annotations of pods that simulated jobs lack. */
interface Annotations {
  readonly profiled: ReadonlySet<string> | undefined;
  readonly moveCosts: ReadonlyMap<string, number> | undefined;
}

function schedulerBy(policy: PolicySpec, annotations: Annotations): Scheduler {
  let cluster: SimulatedCluster | undefined;
  const clusterOf = (view: Moment) => {
    cluster ??= new SimulatedCluster(view, policy, annotations);
    return cluster;
  };
  return {
    mechanism: "space",
    protects: true,
    inOrder: true,
    plan(view) {
      const orders = new Map<number, Order>();
      for (const { index, placed } of view.jobs)
        if (placed) orders.set(index, { job: index, seats: placed.seats, share: placed.share });
      for (const order of clusterOf(view).decide(view, true)) orders.set(order.job, order);
      return [...orders.values()];
    },
    fill: (view) => clusterOf(view).decide(view, false),
    adjust: (_, job, moment) => clusterOf(moment).shareOf(job, moment),
  };
}

/** A begin of a job, which is one pod. */
interface Begin {
  readonly job: JobView;
  readonly start: number;
  /** undefined while it waits. */
  seat: number | undefined;
}

class SimulatedCluster {
  readonly #policy: PolicySpec;
  readonly #annotations: Annotations;
  readonly #store = newStore();
  readonly #workloads: Workload[] = [];
  /** By job. */
  readonly #begins = new Map<number, Begin>();
  readonly #byUid = new Map<string, Begin>();
  /** How often a job has begun. */
  readonly #starts = new Map<number, number>();
  /** By UUID. */
  readonly #seats = new Map<string, number>();
  readonly #sampler;
  /** The last moment that the store describes, s. */
  #described = Number.NEGATIVE_INFINITY;

  constructor({ seats, predictions, interval }: Moment, policy: PolicySpec, said: Annotations) {
    this.#policy = policy;
    this.#annotations = said;
    const pairs: PairForecasts = ({ [PLACE]: service = -1 }, { [PLACE]: job = -1 }) => {
      const [online, offline] = [this.#workloads[service], this.#workloads[job]];
      return (
        online && offline && { ...pairForecast(predictions, online, offline), knowsShares: true }
      );
    };
    this.#sampler = samplerOf(this.#store, pairs);
    this.#store.namespaces.put(namespaceObject());
    this.#store.policies.put({
      ...{ apiVersion: "cotenant.io/v1alpha1", kind: "SharingPolicy" },
      ...{ metadata: { name: "default" }, spec: { ...policy, intervalSeconds: interval } },
    });
    for (const seat of seats) {
      this.#seats.set(uuidOf(seat.index), seat.index);
      this.#store.nodes.put(nodeObject(seat));
      if (!seat.online) continue;
      this.#describe(seat.online);
      this.#store.pods.put(serviceObject(seat, seat.online, this.#hasProfile(seat.online)));
    }
  }

  decide(view: View, isRound: boolean): readonly Order[] {
    this.#observe(view);
    const { now } = view;
    const { actions, noted } = plan(this.#sampler.seen(1000 * now, wallAt(now)));
    // Between rounds the simulator moves nothing.
    if (isRound) this.#sampler.remember(noted);
    let moves = Math.floor((this.#policy.evictionsPerMinute * view.interval) / 60);
    const begun: Begin[] = [];
    for (const action of actions) {
      if (action.kind !== "claim" && action.kind !== "move") continue;
      if (action.kind === "move" && (!isRound || moves-- <= 0)) continue;
      const begin = this.#byUid.get(action.pod.metadata.uid);
      const seat = this.#seats.get(action.gpu);
      if (begin === undefined || seat === undefined) continue;
      if (action.kind === "move") this.#remove(begin);
      const next = action.kind === "claim" ? begin : this.#begin(begin.job, view.restart);
      const pod = this.#store.pods.get(podNameOf(next.job.index, next.start));
      if (pod === undefined) continue;
      const { node, gpu, memoryBytes } = action;
      const claim = claimNameOf(next.job.index, next.start);
      this.#store.claims.put(
        claimObject(claimFor({ pod, node, gpu, memoryBytes }, wallAt(now)), claim, now),
      );
      next.seat = seat;
      this.#putPod(next, view.restart);
      begun.push(next);
    }
    this.#pair(now);
    return begun.map(({ job, start, seat = -1 }) => ({
      ...{ job: job.index, seats: [seat] },
      share: this.#store.pairings.get(claimNameOf(job.index, start))?.spec.share ?? 1,
    }));
  }

  /** The share of a job that runs, which follows the load. */
  shareOf({ index, placed }: JobView, moment: Moment): number {
    if (moment.now > this.#described) {
      this.#observeGpus(moment);
      this.#pair(moment.now);
    }
    const { start = 0 } = this.#begins.get(index) ?? {};
    return this.#store.pairings.get(claimNameOf(index, start))?.spec.share ?? placed?.share ?? 1;
  }

  /** Brings the objects up to date with the simulation. */
  #observe(view: View): void {
    this.#observeGpus(view);
    for (const begin of [...this.#begins.values()]) {
      const { job, seat } = begin;
      // It has ended, was evicted, or its GPU has failed.
      if (seat !== undefined && !view.seats[seat]?.jobs.includes(job.index)) this.#remove(begin);
    }
    for (const job of view.jobs) {
      const known = this.#begins.get(job.index);
      const retained = job.placed?.retained;
      if (known === undefined) this.#begin(job, view.restart);
      else if (retained !== undefined) {
        const name = claimNameOf(job.index, known.start);
        const pairing = this.#store.pairings.get(name);
        if (pairing) this.#store.pairings.put(pairingObject(pairing, name, retained, view.now));
      }
    }
  }

  /** A pod for the job, which waits. */
  #begin(job: JobView, restart: number): Begin {
    const start = this.#starts.get(job.index) ?? 0;
    const begin = { job, start, seat: undefined };
    this.#starts.set(job.index, start + 1);
    this.#begins.set(job.index, begin);
    this.#byUid.set(podUidOf(job.index, start), begin);
    this.#describe(job.workload);
    this.#putPod(begin, restart);
    return begin;
  }

  /** The pod goes, and Kubernetes deletes with it what it owns. */
  #remove({ job: { index }, start }: Begin): void {
    this.#begins.delete(index);
    this.#byUid.delete(podUidOf(index, start));
    this.#store.pods.remove(podNameOf(index, start));
    this.#store.claims.remove(claimNameOf(index, start));
    this.#store.pairings.remove(claimNameOf(index, start));
  }

  #putPod({ job, start, seat }: Begin, restart: number): void {
    const { moveCosts } = this.#annotations;
    const annotations = {
      hasProfile: this.#hasProfile(job.workload),
      // The simulator writes a checkpoint before it moves a job.
      moveCost: moveCosts ? moveCosts.get(job.workload.name) : restart,
      bytes: statedBytes(job.workload),
    };
    this.#store.pods.put(jobObject(job, start, seat, annotations));
  }

  #hasProfile({ name }: Workload): boolean {
    return this.#annotations.profiled?.has(name) ?? true;
  }

  /** Makes the profile of a workload, if it has one. */
  #describe(workload: Workload): void {
    if (this.#workloads.includes(workload)) return;
    const metrics = { [PLACE]: this.#workloads.push(workload) - 1 };
    if (this.#hasProfile(workload)) this.#store.profiles.put(profileObject(workload, metrics));
  }

  #observeGpus({ now, seats }: Moment): void {
    this.#described = now;
    for (const seat of seats) this.#store.gpuNodes.put(gpuNodeObject(seat, now));
  }

  /** Writes Pairings as the manager does after it has acted. */
  #pair(now: number): void {
    for (;;) {
      const changes = pairingChanges(this.#sampler.seen(1000 * now, wallAt(now)));
      if (changes.length === 0) return;
      for (const change of changes) {
        const { object } = pairingWrite(change);
        if (change.kind === "create")
          this.#store.pairings.put(pairingObject(object, change.name, undefined, now));
        else {
          const { pairing, share } = change;
          this.#store.pairings.put({
            ...pairing,
            spec: { ...pairing.spec, share },
          } as typeof pairing);
        }
      }
    }
  }
}

/** The one metric of a simulated profile: by it the workload is found again. Two may be alike in all others. */
const PLACE = "smBusy";
