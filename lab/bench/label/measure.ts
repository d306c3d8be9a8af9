// Runs pairs under an agent, as a node would, and takes what the node part would write of each. All services are started
// at the beginning. A training runs on while one service after another serves, so that it warms up once.
import { mkdirSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { BestEffortStatus, GpuStatus, Status } from "#agent";
import { UserError } from "#core";
import { PairSums, sampleOf } from "#kubernetes";
import { JobProcess } from "#measure";
import { Control } from "../processes/control.ts";
import { noGpuWatch } from "../processes/gpu-watch.ts";
import { calibrationOf, serviceTime } from "../processes/pace.ts";
import type { OpenPlace } from "../processes/places.ts";
import { LEAD_S, type Request, runWindow, SETTLE_S } from "../processes/window.ts";
import { arrivalText, loadOf } from "../scenario/arriving.ts";
import type { Arriving, Job } from "../scenario/scenario.ts";
import type { PairSample, Span } from "./compare.ts";

export interface LabelPair {
  readonly service: Job;
  readonly training: Job;
}

export interface LabelSurroundings {
  /** A folder for control files and logs. */
  readonly directory: string;
  readonly place: OpenPlace;
  readonly arriving: Arriving;
  readonly env: NodeJS.ProcessEnv;
  readonly stop: AbortSignal;
  command(job: Job): readonly string[];
  say(line: string): void;
  step(line: string): void;
}

const READY_WITHIN_S = 120;
/** The first window of a service by itself. A later one shows whether that has changed. */
const FIRST_SOLO_S = 12;
const LATER_SOLO_S = 4;
/** The agent wants ten seconds (decision 0043). */
const SOLO_SECONDS = 10.5;
const SOLO_WITHIN_S = 60;
const SOLO_BETWEEN_S = 3;
/** The node part wants 20 seconds of work. */
const CONCURRENT_S = 23;
/** The node part samples as often. */
const SAMPLE_MS = 1000;
/** Samples of the agent are a quarter of a second, and the last request may still run. */
const EDGE_NS = 0.5e9;
const POLL_MS = 50;

const now = () => Number(process.hrtime.bigint());

interface Running {
  readonly job: Job;
  readonly process: JobProcess;
  readonly control: Control;
  readonly directory: string;
}

interface Service extends Running {
  serviceNs: number;
  round: number;
  /** Requests of windows by itself. */
  readonly solo: Request[];
}

export class LabelMeasurement {
  readonly #around: LabelSurroundings;
  readonly #processes: JobProcess[] = [];

  constructor(around: LabelSurroundings) {
    this.#around = around;
  }

  /** Hands over each sample as soon as it is there. Throws at the first failure. */
  async run(pairs: readonly LabelPair[], done: (sample: PairSample) => void): Promise<void> {
    const services = distinct(pairs.map(({ service }) => service));
    const trainings = distinct(pairs.map(({ training }) => training));
    const running = new Map<string, Service>();
    for (const [index, training] of trainings.entries()) {
      const first = index === 0 ? services : [];
      this.#around.step(`starting ${[...first, training].map(({ name }) => name).join(", ")}`);
      const [own, ...others] = await this.#start([training, ...first]);
      for (const service of others)
        running.set(service.job.name, { ...service, serviceNs: 0, round: 0, solo: [] });
      if (!own) throw new Error("nothing was started");
      const partners = distinct(
        pairs.filter(({ training: { name } }) => name === training.name).map((one) => one.service),
      ).flatMap(({ name }) => running.get(name) ?? []);
      for (const service of partners) await this.#serveSolo(service);
      for (const sample of await this.#trainWith(own, partners)) done(sample);
      own.control.quit();
      await own.process.end();
    }
    for (const { control } of running.values()) control.quit();
  }

  /** Ends every process; at once if `abruptly`. */
  async end(abruptly = false): Promise<void> {
    if (abruptly) for (const process of this.#processes) process.kill();
    for (const process of this.#processes) process.kill("SIGTERM");
    await Promise.all(this.#processes.map((process) => process.end()));
  }

  /** Those that measure the GPU before they are ready have it to themselves meanwhile. */
  async #start(jobs: readonly Job[]): Promise<readonly Running[]> {
    const { directory, place, env, command } = this.#around;
    const running: Running[] = [];
    const ready = ({ process, control, job }: Running) =>
      process.until(() => control.readiness(job.name), READY_WITHIN_S, "ready");
    for (const [index, job] of jobs.entries()) {
      const own = `${directory}/${job.name}`;
      mkdirSync(own);
      const control = new Control(own);
      control.idle();
      const kind = index === 0 ? "best-effort" : "high";
      const words = [
        ...place.prefix(kind, job.name, { slo: [], profile: job.profile }),
        ...[...command(job), "--control", own, "--name", job.name],
      ];
      const process = new JobProcess(job.name, words, { ...env, ...place.env }, own);
      this.#processes.push(process);
      const one = { job, process, control, directory: own };
      running.push(one);
      if (job.startsAlone) await ready(one);
    }
    for (const one of running) await ready(one);
    return running;
  }

  async #serveSolo(service: Service): Promise<void> {
    const { job, process, control } = service;
    const isFirst = service.solo.length === 0;
    this.#around.step(`${job.name} by itself`);
    if (isFirst) {
      const seconds = calibrationOf(control.readiness(job.name) ?? {});
      const cast = { high: { process, name: job.name }, bestEffort: [] };
      const plan = { cast, arrivals: undefined, announceUs: 0, seconds };
      const { requests } = await runWindow(plan, control, noGpuWatch);
      const times = requests.map(({ serviceNs }) => serviceNs);
      service.serviceNs = serviceTime(times, false);
      const perS = (loadOf(this.#around.arriving) ?? 0) / (service.serviceNs / 1e9);
      if (!(perS > 0))
        throw new UserError("JOB_FAILED", `${job.name} answered no request by itself.`);
      this.#around.say(
        `${job.name}: ${(service.serviceNs / 1e6).toFixed(3)} ms by itself, ${perS.toFixed(1)} requests a second`,
      );
    }
    service.solo.push(...(await this.#serve(service, isFirst ? FIRST_SOLO_S : LATER_SOLO_S)));
  }

  async #serve(service: Service, seconds: number): Promise<readonly Request[]> {
    const { job, process, control, directory, serviceNs } = service;
    if (this.#around.stop.aborted) throw stopped();
    const arrivals = `${directory}/arrivals`;
    const text = arrivalText(this.#around.arriving, serviceNs, seconds, service.round++);
    writeFileSync(arrivals, text ?? "");
    const cast = { high: { process, name: job.name }, bestEffort: [] };
    const window = await runWindow({ cast, arrivals, announceUs: 0, seconds }, control, noGpuWatch);
    return window.requests;
  }

  /** Iterations are known when the training stops, so the samples come together. */
  async #trainWith(
    training: Running,
    services: readonly Service[],
  ): Promise<readonly PairSample[]> {
    const { job, process, control } = training;
    const id = control.begin({ [job.name]: {} }, now(), 0);
    const pairs: Omit<PairSample, "doneNs">[] = [];
    const solo: Span[] = [await this.#soloOf(training)];
    for (const service of services) {
      const begun = now();
      if (pairs.length > 0) {
        await this.#wait(training, SOLO_BETWEEN_S);
        solo.push({ fromNs: begun + EDGE_NS, toNs: now() });
      }
      const pair = await this.#concurrent(service, training);
      const seconds = (now() - begun) / 1e9;
      pairs.push({ ...pair, seconds, solo: [...solo] });
    }
    control.idle();
    const answer = () => control.answer(job.name, id);
    const { done_ns: doneNs = [] } = await process.until(answer, READY_WITHIN_S, "done");
    return pairs.map((pair) => ({ ...pair, doneNs }));
  }

  /** Waits until the agent knows what the training does by itself. */
  async #soloOf(training: Running): Promise<Span> {
    const { name } = training.job;
    this.#around.step(`${name} by itself`);
    const end = now() + SOLO_WITHIN_S * 1e9;
    let fromNs: number | undefined;
    for (;;) {
      await this.#wait(training, POLL_MS / 1000);
      const { work } = this.#seen(name).own;
      const seconds = work?.solo.seconds ?? 0;
      if (seconds > 0) fromNs ??= now();
      if (fromNs !== undefined && seconds >= SOLO_SECONDS) return { fromNs, toNs: now() };
      if (now() > end)
        throw new UserError(
          "NO_LABEL",
          `The agent has seen ${name} by itself for ${seconds.toFixed(1)} s within ${SOLO_WITHIN_S} s, and ${SOLO_SECONDS} s were wanted: it counts a quarter of a second in which no other client used the GPU.`,
        );
    }
  }

  async #concurrent(
    service: Service,
    training: Running,
  ): Promise<Omit<PairSample, "doneNs" | "solo" | "seconds">> {
    const [high, bestEffort] = [service.job.name, training.job.name];
    this.#around.step(`${high} with ${bestEffort}`);
    let isServing = true;
    const serving = this.#serve(service, CONCURRENT_S).finally(() => {
      isServing = false;
    });
    // It is awaited below; a rejection before that must not end the program.
    serving.catch(() => {});
    await this.#wait(training, LEAD_S + SETTLE_S);
    const fromNs = now();
    const endNs = fromNs + (CONCURRENT_S - SETTLE_S) * 1e9;
    const sums = new PairSums();
    const begun = this.#sample(sums, high, bestEffort);
    let toNs = fromNs;
    let last = begun;
    while (isServing && toNs < endNs) {
      await this.#wait(training, Math.min(SAMPLE_MS, Math.max(0, endNs - now()) / 1e6) / 1000);
      toNs = now();
      last = this.#sample(sums, high, bestEffort);
    }
    const requests = (await serving).map(({ serviceNs }) => serviceNs);
    const figures = sums.figures();
    return {
      ...{ service: high, training: bestEffort, figures, busy: busyBetween(begun, last) },
      concurrent: { fromNs, toNs },
      requests: { solo: service.solo.map(({ serviceNs }) => serviceNs), concurrent: requests },
    };
  }

  #sample(sums: PairSums, service: string, training: string): BestEffortStatus["work"] {
    const { gpu, own } = this.#seen(training);
    // The other services do nothing now; on a node they would not be there.
    const high = gpu.high.filter(({ name }) => name === service);
    if (high.length === 0)
      throw new UserError("JOB_FAILED", `${service} is no client of the agent any more.`);
    sums.add(sampleOf(own, { ...gpu, high }, own.keptShare ?? 1), performance.now());
    return own.work;
  }

  #seen(training: string): { readonly gpu: GpuStatus; readonly own: BestEffortStatus } {
    const status: Status | undefined = this.#around.place.status();
    for (const gpu of status?.gpus ?? [])
      for (const own of gpu.bestEffort) if (own.name === training) return { gpu, own };
    throw new UserError("JOB_FAILED", `${training} is no client of the agent.`);
  }

  async #wait({ process }: Running, seconds: number): Promise<void> {
    await pause(seconds * 1000);
    process.check();
    if (this.#around.stop.aborted) throw stopped();
  }
}

const stopped = () => new UserError("STOPPED", "The measurement was stopped.");

const distinct = (jobs: readonly Job[]): readonly Job[] => [
  ...new Map(jobs.map((job) => [job.name, job])).values(),
];

function busyBetween(
  before: BestEffortStatus["work"],
  after: BestEffortStatus["work"],
): number | undefined {
  if (!before || !after) return undefined;
  const seconds =
    after.shared.seconds + after.solo.seconds - before.shared.seconds - before.solo.seconds;
  const kernelSeconds =
    after.shared.kernelSeconds +
    after.solo.kernelSeconds -
    before.shared.kernelSeconds -
    before.solo.kernelSeconds;
  return seconds > 0 ? kernelSeconds / seconds : undefined;
}
