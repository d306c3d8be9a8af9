import { setTimeout as pause } from "node:timers/promises";
import type { Agent } from "#agent";
import { systemClock, UserError } from "#core";
import { JobFailed, JobProcess } from "../processes/process.ts";
import { type LatencyWatch, watchLatency } from "./latencies.ts";
import { Lines } from "./lines.ts";
import type { TryOptions } from "./options.ts";
import { describeReady, isReady, isTaken } from "./ready.ts";

const LOOK_EVERY_MS = 100;
/** The training reports that its GPU takes no best-effort work. */
const WAITS = /^cotenant: .* waits (before its start|at its first use of the GPU): /;

export class Pair {
  readonly #options: TryOptions;
  readonly #agent: Agent;
  readonly #env: NodeJS.ProcessEnv;
  readonly #directory: string;
  #service: JobProcess | undefined;
  #training: JobProcess | undefined;
  #load: JobProcess | undefined;
  #isTrainingPaused = false;
  #lines: Lines | undefined;
  #latency: LatencyWatch | undefined;
  readonly stepsNs: number[] = [];

  constructor(options: TryOptions, agent: Agent, directory: string) {
    this.#options = options;
    this.#agent = agent;
    this.#directory = directory;
    this.#env = { ...process.env, COTENANT_DIR: directory };
  }

  get latency(): LatencyWatch | undefined {
    return this.#latency;
  }

  async startTraining(): Promise<void> {
    const { training, progress, warn } = this.#options;
    const job = this.#launch("training", "best-effort", training);
    this.#training = job;
    this.#lines = new Lines(job.log, systemClock.now, (line, atNs) => {
      if (progress?.test(line)) this.stepsNs.push(atNs);
      if (WAITS.test(line)) warn(line.replace(/^cotenant: /, ""));
    });
    await this.#until(job, () => this.#launches() > 0, "working on the GPU");
    if (!progress) this.#closeLines();
    await this.wait(this.#options.warmUp);
  }

  async startService(): Promise<void> {
    const { service, ready, load, latency } = this.#options;
    if (ready && (await isTaken(ready)))
      throw new UserError(
        "BAD_JOB",
        `--ready: something answers at ${describeReady(ready)} before the service is started.`,
        "Stop it, or give the service another port.",
      );
    const job = this.#launch("service", "high", service);
    this.#service = job;
    if (ready)
      await this.#until(job, () => isReady(ready, job.log), `ready (${describeReady(ready)})`);
    if (load !== undefined) this.#load = this.#start("load", ["sh", "-c", load], process.env);
    await this.#until(
      job,
      () => this.#bursts() > 0,
      "seen to serve a request on the GPU",
      load === undefined ? "Who sends requests? See --load" : undefined,
    );
    if (latency)
      this.#latency = watchLatency(latency, {
        directory: this.#directory,
        env: process.env,
        now: systemClock.now,
      });
    await this.wait(this.#options.warmUp);
    this.#checkGpus();
  }

  get isTrainingPaused(): boolean {
    return this.#isTrainingPaused;
  }

  /** A stopped training takes no CPU. */
  pauseTraining(): void {
    this.#isTrainingPaused = true;
    this.#training?.kill("SIGSTOP");
  }

  resumeTraining(): void {
    this.#isTrainingPaused = false;
    this.#training?.kill("SIGCONT");
  }

  /** A request counts whether it has ended or not. */
  activeShare(): number {
    const clients = this.#agent.status().gpus.flatMap(({ high }) => high);
    return Math.max(0, ...clients.map(({ activeShare }) => activeShare));
  }

  /** Throws JobFailed if a job ends meanwhile, or the measurement is stopped. */
  async wait(seconds: number): Promise<void> {
    const end = performance.now() + seconds * 1000;
    for (;;) {
      this.#check();
      const left = end - performance.now();
      if (left <= 0) return;
      await pause(Math.min(left, LOOK_EVERY_MS));
    }
  }

  async stopService(): Promise<void> {
    await this.#latency?.close();
    this.#latency = undefined;
    await stop(this.#load);
    this.#load = undefined;
    await stop(this.#service);
    this.#service = undefined;
  }

  async stop(): Promise<void> {
    await this.stopService();
    this.#closeLines();
    await stop(this.#training);
    this.#training = undefined;
  }

  #closeLines(): void {
    this.#lines?.close();
    this.#lines = undefined;
  }

  #launch(name: string, kind: "high" | "best-effort", command: readonly string[]): JobProcess {
    const { cotenant, startWithin } = this.#options;
    const wait = kind === "best-effort" ? ["--wait-at-most", `${startWithin}s`] : [];
    const run = ["run", "--class", kind, "--name", name, ...wait, "--", ...command];
    return this.#start(name, [...cotenant, ...run], this.#env);
  }

  #start(name: string, command: readonly string[], env: NodeJS.ProcessEnv): JobProcess {
    return new JobProcess(name, command, env, this.#directory);
  }

  #check(): void {
    if (this.#options.stop.aborted) throw new JobFailed("stopped");
    for (const job of [this.#service, this.#training, this.#load, this.#latency]) job?.check();
  }

  async #until(
    job: JobProcess,
    look: () => boolean | Promise<boolean>,
    what: string,
    cure?: string,
  ): Promise<void> {
    const { startWithin } = this.#options;
    const end = performance.now() + startWithin * 1000;
    while (!(await look())) {
      this.#check();
      if (performance.now() > end)
        throw job.failure(
          [`was not ${what} within ${startWithin} s (--start-within)`, cure]
            .filter(Boolean)
            .join(". "),
        );
      await pause(LOOK_EVERY_MS);
    }
  }

  #launches(): number {
    const clients = this.#agent.status().gpus.flatMap(({ bestEffort }) => bestEffort);
    return clients.reduce((sum, { launches, graphs }) => sum + launches + graphs, 0);
  }

  #bursts(): number {
    const clients = this.#agent.status().gpus.flatMap(({ high }) => high);
    return clients.reduce((sum, { bursts }) => sum + bursts, 0);
  }

  #checkGpus(): void {
    const { gpus } = this.#agent.status();
    const [high] = gpus.filter((gpu) => gpu.high.length > 0);
    if (high && high.bestEffort.length > 0) return;
    throw new UserError(
      "BAD_JOB",
      "The service and the training are on different GPUs.",
      "Choose one for both: CUDA_VISIBLE_DEVICES=0 cotenant try …",
    );
  }
}

async function stop(job: JobProcess | undefined): Promise<void> {
  if (!job) return;
  job.kill("SIGTERM");
  job.kill("SIGCONT"); // a job that stands still cannot end
  await job.end();
}
