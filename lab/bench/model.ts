// The bench's measurement on a modelled GPU, in virtual time. Profiles take the place of processes. Windows, rounds,
// arrivals and figures are those of a real measurement. The same seed gives the same cells.

import { dateNow, leftOf, quantile, usage } from "#core";
import {
  type GpuModel,
  type HighJob,
  type Arrangement as ModelArrangement,
  type Job as ModelJob,
  type ModelWindow,
  arrangementNamed as modelledArrangement,
  modelOf,
  planOf,
  runWindow,
  type Submission,
} from "#gpu";
import { commitOf } from "#measure";
import { parseObjective } from "#policy";
import { checkGpu, type WorkloadProfile } from "#profile";
import { resultOf } from "./document.ts";
import { checkPlausible } from "./plausible.ts";
import { ALONE_S, CALIBRATION_S, learns, type Pace, paceOf, paceText } from "./processes/pace.ts";
import type { Measured } from "./processes/run.ts";
import { SETTLE_S, type Window } from "./processes/window.ts";
import { type Arrangement, alone, solo } from "./scenario/arrangements.ts";
import { arrivalOffsets } from "./scenario/arriving.ts";
import { rolesIn } from "./scenario/cast.ts";
import type { BenchResult } from "./scenario/result.ts";
import { type Changes, type Job, type Scenario, scenarioOf } from "./scenario/scenario.ts";

/** A profile, and the file it was read from. */
export interface Modelled {
  readonly profile: WorkloadProfile;
  readonly file: string;
  /** A request or iteration is launched as one graph; if left out, kernel by kernel. */
  readonly graph?: boolean;
}

interface ModelledJobs {
  readonly high: Modelled;
  readonly bestEffort: readonly Modelled[];
}

interface ModelOptions {
  /** A GPU's short name; by default the GPU of the profiles. */
  readonly gpu: string | undefined;
  /** From 0 to 2^20; with 0, arrivals are those of real measurements. */
  readonly seed: number;
  /** The folder whose commit is noted. */
  readonly codeFolder: string;
  readonly command: string;
  say(line: string): void;
  /** A step begins. `leftS`: seconds until all are done, if that is known. */
  step(line: string, leftS?: number): void;
}

interface PairOptions extends ModelOptions, Changes {
  /** As in a scenario: "poisson", "steps:10s@0.1,10s@0.5" … */
  readonly arrivals: string;
  /** A request of the high job is one graph. */
  readonly graph: boolean;
}

/** In seconds of virtual time. All events of a window are kept until its end. */
const LONGEST_WINDOW_S = 3600;
const MAX_REQUESTS = 1_000_000;

/** The window that shows what the high job can serve has at least this many requests. */
const CALIBRATING_REQUESTS = 20;

/** Models two or more profiles together. Throws a UserError for what cannot be modelled. */
export function model(
  jobs: ModelledJobs,
  { arrivals, graph, ...options }: PairOptions,
): BenchResult {
  const high = jobOf(jobs.high, graph ? "-graph" : "");
  const bestEffort = jobs.bestEffort.map((one) => jobOf(one, ""));
  const name = [high, ...bestEffort].map((job) => job.name).join("+");
  const scenario = scenarioOf(name, { high, bestEffort }, arrivals, options);
  return modelScenario(scenario, { ...jobs, high: { ...jobs.high, graph } }, options);
}

/** Models a scenario, with the profiles of its jobs in their order. Throws a UserError as above. */
export function modelScenario(
  scenario: Scenario,
  { high, bestEffort }: ModelledJobs,
  options: ModelOptions,
): BenchResult {
  const date = dateNow();
  const { gpu, notes } = gpuFor([high, ...bestEffort], options.gpu);
  const arrangements = new Map(
    scenario.arrangements.map(({ name: one }) => [one, modelledArrangement(one)]),
  );
  const objective = scenario.slo.length > 0 ? parseObjective(scenario.slo) : undefined;
  const run = new ModelMeasurement(scenario, arrangements, {
    ...options,
    gpu,
    high: { ...modelJob(high), ...(objective && { objective }) },
    bestEffort: bestEffort.map(modelJob),
  });
  const measured = run.run();
  return resultOf(scenario, measured, {
    date,
    // The CPU that computed it has no effect on the result.
    machine: { gpu: `modelled ${gpu.description.short}`, driver: "model", cpu: "", cpus: 0 },
    commit: commitOf(options.codeFolder),
    command: options.command,
    note: [...notes, ...run.unserved()].join("; "),
    cpu: undefined,
  });
}

const modelJob = ({ profile, graph }: Modelled): ModelJob => ({
  profile,
  submission: graph ? "graph" : "kernels",
});

/** A model needs no command, so the command says where the job comes from. */
const jobOf = ({ profile, file }: Modelled, suffix: string): Job => ({
  name: `${profile.name}${suffix}`,
  run: [file],
  memory: 0 as Job["memory"],
  startsAlone: false,
  profile: undefined,
});

/**
 * Times measured on another GPU do not hold, so a profile of a GPU with other SMs is refused. GPUs that differ less
 * (H100 and H200) are accepted if the user named the GPU. The kernels' times are used unchanged, and the result says
 * so.
 */
function gpuFor(all: readonly Modelled[], asked: string | undefined) {
  const name = asked ?? all[0]?.profile.gpu.name ?? "";
  const gpu = modelOf(name);
  const notes: string[] = [];
  for (const { profile } of all) {
    checkPlausible(profile, gpu, LONGEST_NS);
    if (checkGpu(profile, name).ok) continue;
    if (asked === undefined)
      throw usage(
        `${profile.name} was profiled on ${profile.gpu.name}, the high job on ${name}.`,
        "--gpu NAME says which of the two is modelled; kernels keep their times.",
      );
    notes.push(`${profile.name} with the kernel times of ${profile.gpu.name}`);
  }
  return { gpu, notes };
}

const LONGEST_NS = (LONGEST_WINDOW_S * 1e9) / CALIBRATING_REQUESTS;

function checkWindow({ arriving, learn }: Scenario, { seconds, serviceNs, ratePerS }: Pace): void {
  const whole = seconds + learn;
  if (!(whole <= LONGEST_WINDOW_S))
    throw usage(
      `A window of ${whole} s, learning included, is too long to model: at most ${LONGEST_WINDOW_S} s.`,
      "Shorten --seconds, --learn, or the steps.",
    );
  const rate = ratePerS ?? 1e9 / serviceNs;
  if (arriving.kind !== "closed" && !(rate * whole <= MAX_REQUESTS))
    throw usage(
      `A window of ${whole} s may have ${Math.ceil(rate * whole)} requests, too many to model: at most ${MAX_REQUESTS}.`,
      "Shorten --seconds, --learn, or the steps, or give a lower --load.",
    );
}

/** One side alone is the arrangement without the other side. */
interface Surroundings {
  readonly gpu: GpuModel;
  readonly high: HighJob;
  readonly bestEffort: readonly ModelJob[];
  readonly seed: number;
  say(line: string): void;
  /** A step begins. `leftS`: seconds until all are done, if that is known. */
  step(line: string, leftS?: number): void;
}

interface WindowAsked {
  readonly seconds: number;
  /** Seconds before the window in which a policy may learn. */
  readonly learn: number;
  readonly arrivals: readonly number[] | undefined;
  readonly round: number;
}

/** Rounds of windows, as for processes. Nothing drifts in the model, so no window is dropped. */
class ModelMeasurement {
  readonly #scenario: Scenario;
  readonly #arrangements: ReadonlyMap<string, ModelArrangement>;
  readonly #around: Surroundings;
  readonly #lost = new Map<string, number>();

  constructor(
    scenario: Scenario,
    arrangements: ReadonlyMap<string, ModelArrangement>,
    around: Surroundings,
  ) {
    this.#scenario = scenario;
    this.#arrangements = arrangements;
    this.#around = around;
  }

  run(): Measured {
    const { rounds } = this.#scenario;
    const pace = paceOf(this.#scenario, this.#serviceNs());
    checkWindow(this.#scenario, pace);
    if (pace.ratePerS !== undefined) this.#around.say(paceText(pace, this.#scenario));
    const left = leftOf(rounds);
    const done = Array.from({ length: rounds }, (_, i) => {
      this.#around.step(`round ${i + 1} of ${rounds}`, left(i));
      return this.#round(i + 1, pace);
    });
    return {
      ratePerS: pace.ratePerS,
      serviceNs: pace.serviceNs,
      windowSeconds: pace.seconds - SETTLE_S,
      rounds: done,
      failures: new Map(),
      cutShort: undefined,
      facts: this.#facts(),
    };
  }

  /** A sentence for each arrangement that left requests unserved because it was overloaded. */
  unserved(): string[] {
    return [...this.#lost].map(
      ([name, count]) =>
        `${name}: ${count} requests were never served; they count with the time that they had waited`,
    );
  }

  #serviceNs(): number {
    const { high, gpu } = this.#around;
    const { soloNs } = planOf(high.profile, gpu, high.submission);
    const seconds = Math.max(CALIBRATION_S, (CALIBRATING_REQUESTS * soloNs) / 1e9);
    const { requests } = this.#window(solo, { seconds, learn: 0, arrivals: undefined, round: 0 });
    return quantile(
      requests.map((request) => request.serviceNs),
      0.5,
    );
  }

  #round(round: number, { serviceNs, seconds }: Pace): ReadonlyMap<string, Window> {
    const scenario = this.#scenario;
    const { arriving, arrangements } = scenario;
    const offsets = (long: number, of: number) =>
      arrivalOffsets(arriving, serviceNs, long, of, this.#around.seed);
    const arrivals = offsets(seconds, round);
    return new Map(
      arrangements.map((one) => {
        const own = one.high ? seconds : Math.min(seconds, ALONE_S);
        const learn = learns(one, scenario) ? scenario.learn : 0;
        // Windows are independent, so a policy learns in each window again, from other arrivals.
        const before = learn > 0 ? offsets(learn, scenario.rounds + round) : [];
        const all = before && arrivals && [...before, ...arrivals.map((ns) => ns + learn * 1e9)];
        const window = this.#window(one, { seconds: own, learn, arrivals: all, round });
        return [one.name, window];
      }),
    );
  }

  #window(one: Arrangement, { seconds, learn, arrivals, round }: WindowAsked): Window {
    const { name } = one;
    const { high, bestEffort, gpu, seed, say } = this.#around;
    const arrangement = this.#arrangements.get(name) ?? modelledArrangement(name);
    const window = runWindow({
      arrangement,
      high: arrivals ? { ...high, arrivalsNs: arrivals } : high,
      bestEffort,
      seconds,
      learnSeconds: learn,
      gpu,
      seed: seed * SEEDS_APART + round,
    });
    if (window.unserved > 0) this.#lost.set(name, (this.#lost.get(name) ?? 0) + window.unserved);
    if (learn > 0) say(`${name}, round ${round}: on level ${window.level} in the end`);
    return {
      ...window,
      // Alone, an iteration is like the one before, and their ends tell more.
      iterations: one.high && one.bestEffort ? window.iterations : undefined,
      gpu: seenOf(window),
    };
  }

  /** By the names that the processes of a measurement would have. */
  #facts(): Measured["facts"] {
    const { high, bestEffort, gpu } = this.#around;
    const roles = rolesIn(alone, this.#scenario).bestEffort;
    const facts = new Map<string, Readonly<Record<string, unknown>>>();
    const name = rolesIn(solo, this.#scenario).high?.name;
    if (name !== undefined) facts.set(name, factsOf(high, gpu));
    bestEffort.forEach((job, i) => {
      facts.set(roles[i]?.name ?? "", factsOf(job, gpu));
    });
    return facts;
  }
}

/** A prime number, so that close seeds do not share rounds. */
const SEEDS_APART = 10_007;

function factsOf({ profile, submission }: ModelJob, gpu: GpuModel) {
  const { soloNs } = planOf(profile, gpu, submission);
  const launches = profile.sequence.filter((step) => "kernel" in step).length;
  const as: Record<Submission, string> = { graph: "as one graph", kernels: "one by one" };
  return {
    label: `${profile.name} (${profile.kind}, ${launches} kernels ${as[submission]}, ${(soloNs / 1e6).toPrecision(3)} ms)`,
    submission,
    soloMs: soloNs / 1e6,
    profiledOn: profile.gpu.name,
    source: profile.source,
  };
}

const seenOf = ({ gpu }: ModelWindow): Window["gpu"] => ({
  smActivity: gpu.smActivity,
  dramActivity: gpu.dramActivity,
  smClockMHz: gpu.smClockMHz,
  powerW: gpu.powerW,
});
