// A day of a simulated cluster whose manager is the real one: its sampler, its plan, its Pairings and its learner. Only what API
// servers, nodes and agents do is simulated.
import { gammas, mulberry32 } from "#core";
import {
  type Claim,
  type ClusterSnapshot,
  claimFor,
  type GpuNode,
  type LearnedForecasts,
  type Pairing,
  PairLearner,
  type PairRow,
  PairRows,
  type Pod,
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
  MODEL,
  NAMESPACE,
  namespaceObject,
  nodeObject,
  serviceObject,
  timeAt,
  wallAt,
} from "./objects.ts";
import { runningAt, type Truth } from "./truth.ts";

export const GPUS = 20;
const SERVICES = 10;
const JOBS = 16;
const HOURS = 24;
const STEP_S = 30;
/** A node writes what it measured of a pair after a minute, of one that harms sooner, and then each ten minutes. */
const FIRST_S = 60;
const HARM_S = 30;
const HARMFUL = 2;
const AGAIN_S = 600;
/** Jobs that come an hour, each for a time that its user has set: 16 of 20 GPUs are taken on average. */
const ARRIVALS = 24;
const MEAN_JOB_S = 2400;
/** Relative standard deviation of a measurement. */
const MEASURED_SD = 0.03;
/** GPU-hours that requests of a fully loaded GPU are worth which take twice as long for an hour, as the decision prices them. */
const PRICE = 6;

export type Manager = "oracle" | "learning" | "turn bound";

/** Figures of a day. */
export interface DayResult {
  /** By hour, over all GPUs. */
  readonly hours: readonly HourFigures[];
  /** Time in which a service was slower than the policy allows, s, by service. */
  readonly overSeconds: readonly number[];
  readonly matches: number;
  readonly explored: number;
  /** Pairs that were parted because the service was slowed too much, and those of them that had been parted before. */
  readonly harmed: number;
  readonly harmedAgain: number;
  /** Reports keep one row of each pair. */
  readonly rows: readonly PairRow[];
  /** Deciders about retained throughput and about slowdown at the end. */
  readonly by: string;
}

export interface HourFigures {
  /** Retained GPU-hours. */
  retained: number;
  /** Retained less what requests pay, as the decision weighs it. */
  worth: number;
  /** GPU-hours that requests pay: PRICE x load x (slowdown - 1). */
  cost: number;
}

interface Job {
  readonly name: string;
  readonly workload: number;
  readonly since: number;
  /** Time for which it still is to run, s: what it retains in it is its gain. */
  left: number;
  gpu?: number;
  startedAt?: number;
  measuredAt?: number;
  readonly sums: { seconds: number; retained: number; load: number };
}

export function day(truth: Truth, manager: Manager, seed: number): DayResult {
  return new Day(truth, manager, seed).run();
}

class Day {
  readonly #truth: Truth;
  readonly #manager: Manager;
  readonly #arrivals;
  readonly #noise;
  readonly #choices;
  readonly #lengths;
  readonly #learner = new PairLearner();
  readonly #rows = new PairRows();
  readonly #reported = new Map<string, PairRow>();
  readonly #policy = { ...policyOf([]), podsPerGpu: 1 };
  readonly #pods = new Map<string, Pod>();
  readonly #claims = new Map<string, Claim>();
  readonly #pairings = new Map<string, Pairing>();
  readonly #gpuNodes = new Map<number, GpuNode>();
  readonly #sampler;
  readonly #jobs = new Map<string, Job>();
  readonly #counts = { matches: 0, explored: 0 };
  readonly #hours: HourFigures[] = [];
  readonly #over = new Array<number>(SERVICES).fill(0);
  /** Parted pairs, as often as they were. */
  readonly #harmed: string[] = [];
  #created = 0;

  constructor(truth: Truth, manager: Manager, seed: number) {
    this.#truth = truth;
    this.#manager = manager;
    this.#arrivals = mulberry32(1000 + seed);
    this.#lengths = gammas(1, mulberry32(2000 + seed));
    this.#noise = mulberry32(3000 + seed);
    this.#choices = mulberry32(4000 + seed);
    for (let gpu = 0; gpu < GPUS; gpu++) {
      const pod = serviceObject(gpu, serviceOn(gpu));
      this.#pods.set(pod.metadata.name, pod);
    }
    const learner = { oracle: this.#oracle(), learning: this.#learner, "turn bound": undefined };
    this.#sampler = samplerOf(
      {
        ...{ pods: this.#pods, claims: this.#claims, pairings: this.#pairings },
        ...{ gpuNodes: this.#gpuNodes, namespaces: new Map([[NAMESPACE, namespaceObject]]) },
        nodes: new Map(Array.from({ length: GPUS }, (_, gpu) => [gpu, nodeObject(gpu)])),
        policies: new Map([
          [
            "default",
            { metadata: { ...namespaceObject.metadata, name: "default" }, spec: this.#policy },
          ],
        ]),
        ...{ profiles: new Map(), volumeClaims: new Map(), volumes: new Map(), classes: new Map() },
      },
      undefined,
      learner[manager],
    );
  }

  run(): DayResult {
    for (let at = 0; at < 3600 * HOURS; at += STEP_S) {
      this.#arrive(at);
      this.#measure(at);
      this.#decide(at);
      this.#pass(at);
    }
    const [summary] = this.#learner.summaries;
    return {
      ...{ hours: this.#hours, overSeconds: this.#over, ...this.#counts },
      harmed: this.#harmed.length,
      harmedAgain: this.#harmed.length - new Set(this.#harmed).size,
      rows: [...this.#reported.values()],
      by: summary ? `${summary.retained.by}, ${summary.slowdown.by}` : "prior",
    };
  }

  #arrive(at: number): void {
    if (this.#arrivals() >= (ARRIVALS * STEP_S) / 3600) return;
    const workload = Math.floor(this.#arrivals() * JOBS);
    this.#wait(workload, at, MEAN_JOB_S * this.#lengths());
  }

  #wait(workload: number, at: number, left: number): void {
    const name = `job-${this.#created++}`;
    const sums = { seconds: 0, retained: 0, load: 0 };
    this.#jobs.set(name, { name, workload, since: at, left, sums });
    this.#pods.set(name, jobObject(name, workload, at, undefined));
  }

  /** The node part's writes. */
  #measure(at: number): void {
    for (let gpu = 0; gpu < GPUS; gpu++)
      this.#gpuNodes.set(gpu, gpuNodeObject(gpu, this.#truth.loadOf(serviceOn(gpu), at), at));
    for (const { name, workload, gpu, startedAt = at, measuredAt, ...job } of this.#jobs.values()) {
      const claim = claimNameOf(name);
      const pairing = this.#pairings.get(claim);
      if (gpu === undefined || pairing === undefined) continue;
      const service = serviceOn(gpu);
      const { slowdown } = this.#truth.pair(service, workload);
      const first = startedAt + (slowdown >= HARMFUL ? HARM_S : FIRST_S);
      if (at < (measuredAt === undefined ? first : measuredAt + AGAIN_S)) continue;
      const noisy = (value: number) => value * (1 + MEASURED_SD * (2 * this.#noise() - 1) * 1.7);
      const { seconds, retained, load } = job.sums;
      const shown = Math.min(1, noisy(retained / seconds));
      const slowed = Math.max(1, noisy(slowdown));
      const own = this.#jobs.get(name);
      if (own) own.measuredAt = at;
      this.#pairings.set(claim, {
        ...pairing,
        status: {
          measured: {
            ...{ retained: shown, slowdown: slowed, at: timeAt(at) },
            pair: {
              ...{ retained: shown, by: "work", seconds, load: load / seconds, others: 0 },
              ...{ policy: "cotenant", mode: "isolated", model: MODEL },
              soloBusy: this.#truth.busyOf(workload),
              service: {
                ...{ unit: "burst", perS: 60, p50Us: 1000 * slowed, soloP50Us: 1000 },
                ...{ p99Us: 2000 * slowed, soloP99Us: 2000 },
              },
            },
          },
        },
      });
    }
  }

  #decide(at: number): void {
    const [now, wallNow] = [1000 * at, wallAt(at)];
    const seen = this.#sampler.seen(now, wallNow);
    const learns = this.#manager === "learning";
    const { actions, noted } = plan(
      seen,
      learns ? { counts: this.#counts, random: this.#choices } : undefined,
    );
    this.#sampler.remember(noted);
    for (const action of actions) {
      const job = this.#jobs.get(action.pod.metadata.name);
      if (job === undefined) continue;
      if (action.kind === "claim") {
        const made = claimFor(action, wallNow);
        this.#claims.set(claimNameOf(job.name), claimObject(made, job.name, at));
        job.gpu = Number(action.gpu.slice("GPU-".length));
        job.startedAt = at;
        this.#pods.set(job.name, jobObject(job.name, job.workload, job.since, job.gpu));
        this.#counts.matches++;
        if (action.choice?.explored) this.#counts.explored++;
      } else if (action.kind === "harm") {
        this.#sampler.slowed(action.pod, action.service, now);
        this.#rows.evicted(action.pod, "harm");
        this.#harmed.push(`${action.service} ${job.workload}`);
        this.#remove(job);
        this.#wait(job.workload, at, job.left);
      }
    }
    this.#pair(this.#sampler.seen(now, wallNow));
    const rows = this.#rows.observe(this.#pairings.values());
    const reported = [...rows.values()].flat();
    for (const row of reported) this.#reported.set(row.pairing, row);
    if (!learns) return;
    this.#learner.add(reported);
    this.#learner.trainIfDue(now, wallNow, this.#policy.mostSlowdown);
  }

  #pair(seen: ClusterSnapshot): void {
    for (const change of pairingChanges(seen)) {
      if (change.kind !== "create") {
        const { pairing, share } = change;
        const { name } = pairing.metadata;
        this.#pairings.set(name, { ...pairing, spec: { ...pairing.spec, share } });
        continue;
      }
      const made = pairingWrite(change).object as Pairing;
      const uid = `pairing ${change.name}`;
      this.#pairings.set(change.name, { ...made, metadata: { ...made.metadata, uid } });
    }
  }

  #remove({ name }: Job): void {
    this.#jobs.delete(name);
    this.#pods.delete(name);
    this.#claims.delete(claimNameOf(name));
    this.#pairings.delete(claimNameOf(name));
  }

  /** A step goes by. */
  #pass(at: number): void {
    const hour = Math.floor(at / 3600);
    const figures = this.#hours[hour] ?? { retained: 0, worth: 0, cost: 0 };
    this.#hours[hour] = figures;
    for (const job of [...this.#jobs.values()]) {
      if (job.gpu === undefined) continue;
      const service = serviceOn(job.gpu);
      const load = this.#truth.loadOf(service, at);
      const { retained, slowdown, active } = runningAt(
        this.#truth.pair(service, job.workload),
        load,
      );
      const spent = Math.min(STEP_S, job.left);
      const hours = spent / 3600;
      figures.retained += hours * retained;
      figures.cost += hours * PRICE * load * (slowdown - 1);
      figures.worth += (hours * retained) / (1 + PRICE * load * (slowdown - 1));
      if (slowdown > this.#policy.mostSlowdown)
        this.#over[service] = (this.#over[service] ?? 0) + spent;
      job.sums.seconds += spent;
      job.sums.retained += spent * retained;
      job.sums.load += spent * active;
      job.left -= STEP_S;
      if (job.left <= 0) this.#remove(job);
    }
  }

  /** Forecasts by the truth itself. */
  #oracle(): LearnedForecasts {
    const numberIn = (workload: string) => Number(workload.split(" ")[1]);
    return {
      kindOf: (workload) => workload,
      isMeasured: () => true,
      of: ({ service, job }, _, load) => {
        const truth = this.#truth.pair(numberIn(service), numberIn(job));
        const { slowdown } = truth;
        return {
          ...{ from: "model", pairs: SERVICES * JOBS, retained: runningAt(truth, load).retained },
          bounds: undefined,
          slowdown: { value: slowdown, low: slowdown, high: slowdown },
        };
      },
    };
  }
}

/** Each service has replicas. */
const serviceOn = (gpu: number): number => gpu % SERVICES;

/** Numbers of workloads of a day. */
export const workloads = { services: SERVICES, jobs: JOBS };
