// One measurement from start to end: checks, places, processes, windows, figures. Everything is ended and removed in
// the end.

import { driverVersion, type GpuKind, openGpm, openNvml } from "#agent";
import { dateNow, errors, UserError, usage } from "#core";
import { commitOf, JobFailed, machineOf, watchCpu } from "#measure";
import { resultOf } from "./document.ts";
import { checkJob } from "./processes/check.ts";
import { type GpuWatch, gpuWatch, noGpuWatch } from "./processes/gpu-watch.ts";
import { Places } from "./processes/places.ts";
import { type Measured, Measurement } from "./processes/run.ts";
import { alone, solo } from "./scenario/arrangements.ts";
import { arrivalText } from "./scenario/arriving.ts";
import { type ProcessPlan, waves } from "./scenario/cast.ts";
import type { BenchResult } from "./scenario/result.ts";
import type { Job, Scenario } from "./scenario/scenario.ts";

export interface BenchOptions {
  /** An empty folder for control files, logs and run directories. */
  readonly directory: string;
  readonly gpu: GpuKind;
  /** The index of the GPU in the driver's order. */
  readonly gpuIndex: number;
  readonly stop: AbortSignal;
  readonly uid: number;
  /** The words that start this program. */
  readonly cotenant: readonly string[];
  /** The folder of the PyTorch clients. */
  readonly workloads: string;
  softGpuFolder(): string;
  /** The folder whose commit is noted. */
  readonly codeFolder: string;
  readonly commit: string | undefined;
  readonly note: string;
  readonly command: string;
  say(line: string): void;
  /** As in `Surroundings`. */
  step(line: string, leftS?: number): void;
}

/** GPU memory that is left for contexts, and for allocators that keep more than the catalogue says. */
const MEMORY_MARGIN = 3 * 2 ** 30;

export interface Outcome {
  readonly result: BenchResult;
  /** All times from which the figures are made. */
  readonly raw: unknown;
  /** Whether every round of every cell was measured. */
  readonly complete: boolean;
}

/** Throws a UserError before anything has started, or if the jobs alone could not be measured. */
export async function bench(scenario: Scenario, options: BenchOptions): Promise<Outcome> {
  const date = dateNow();
  const endOfCpu = await watchCpu();
  const board = boardOf(options);
  const memory = board.memoryFree - MEMORY_MARGIN;
  if (!waves(scenario, [solo, alone], memory)) throw tooLarge(scenario.name, memory);
  checkStreams(scenario);
  arrivalText(scenario.arriving, 1e6, 1, 0);
  const places = new Places({ ...options, uuid: board.uuid });
  const command = (job: Job) => filledIn(job.run, options);
  const native = await places.open(solo.place);
  for (const job of new Set([scenario.high, ...scenario.bestEffort]))
    await checkJob(job.name, command(job), places.environment(native, {}), options.directory);

  const measurement = new Measurement(scenario, {
    ...options,
    places,
    watch: board.watch,
    memory,
    command: (plan) => commandOf(plan, options),
  });
  const abandon = () => void measurement.end(true);
  options.stop.addEventListener("abort", abandon);
  let measured: Measured;
  try {
    measured = await measurement.run();
  } catch (error) {
    if (options.stop.aborted) throw new UserError("STOPPED", "The measurement was stopped.");
    if (error instanceof JobFailed) throw new UserError("JOB_FAILED", error.message);
    throw error;
  } finally {
    options.stop.removeEventListener("abort", abandon);
    await measurement.end();
    await places.close();
  }
  return {
    result: resultOf(scenario, measured, {
      date,
      machine: machineOf(board.name, board.driver),
      commit: options.commit ?? commitOf(options.codeFolder),
      command: options.command,
      note: options.note,
      cpu: endOfCpu(),
    }),
    raw: rawOf(measured),
    complete: measured.cutShort === undefined && measured.failures.size === 0,
  };
}

const tooLarge = (name: string, memory: number) =>
  new UserError(
    "GPU_TOO_SMALL",
    `${name}: its jobs do not fit side by side, twice, into the ${Math.floor(memory / 2 ** 30)} GiB of GPU memory that are free.`,
    'Smaller jobs would, or less "memory" in their description if they need less.',
  );

interface Board {
  readonly name: string;
  readonly driver: string;
  /** undefined if there is only one GPU. */
  readonly uuid: string | undefined;
  readonly memoryFree: number;
  readonly watch: GpuWatch;
}

export function boardOf({ gpu, gpuIndex }: BenchOptions): Board {
  if (gpu === "soft")
    return {
      name: "Cotenant Software GPU",
      driver: "software",
      uuid: undefined,
      memoryFree: Number.POSITIVE_INFINITY,
      watch: noGpuWatch,
    };
  const sensor = openNvml();
  const all = sensor.read();
  const reading = all[gpuIndex];
  if (!reading) throw errors.noGpu(`there is no GPU ${gpuIndex}`);
  const { memoryTotal, memoryUsed } = reading;
  if (memoryTotal === undefined || memoryUsed === undefined)
    throw errors.noGpu(`of GPU ${gpuIndex} the NVIDIA driver says "${reading.error}"`);
  return {
    name: reading.name,
    driver: driverVersion() ?? "",
    uuid: all.length > 1 ? reading.uuid : undefined,
    memoryFree: memoryTotal - memoryUsed,
    watch: gpuWatch(sensor, openGpm({ index: gpuIndex }), gpuIndex),
  };
}

export const filledIn = (words: readonly string[], options: BenchOptions): string[] =>
  words.flatMap((word) =>
    word === "{cotenant}"
      ? [...options.cotenant]
      : [word.replaceAll("{workloads}", options.workloads)],
  );

function commandOf({ high, bestEffort }: ProcessPlan, options: BenchOptions): string[] {
  const words = (job: Job | undefined) => filledIn(job?.run ?? [], options);
  if (!high || !bestEffort) return words(high ?? bestEffort);
  const [python = "", , ...serve] = words(high);
  const [, , ...train] = words(bestEffort);
  return [
    ...[python, `${options.workloads}/streams.py`],
    ...["--high", serve.join(" "), "--best-effort", train.join(" ")],
  ];
}

/** Only PyTorch clients can be put into one process. */
function checkStreams({ name, arrangements, high, bestEffort }: Scenario): void {
  if (!arrangements.some(({ place }) => place.kind === "streams")) return;
  const runs = (job: Job | undefined, script: string) =>
    job?.run[1] === `{workloads}/${script}` && job.run[0]?.startsWith("python");
  if (bestEffort.length === 1 && runs(high, "serve.py") && runs(bestEffort[0], "train.py")) return;
  throw usage(
    `${name}: "streams" puts serve.py and one train.py into one process; these jobs are others.`,
  );
}

/** All times, in ns since the start of their window. */
const rawOf = ({ rounds }: Measured) =>
  rounds.map((round) =>
    Object.fromEntries(
      [...round].map(([name, { startNs, endNs, requests, doneNs, gpu }]) => [
        name,
        {
          seconds: (endNs - startNs) / 1e9,
          arrivalNs: requests.map(({ arrivalNs }) => arrivalNs - startNs),
          latencyNs: requests.map(({ latencyNs }) => latencyNs),
          serviceNs: requests.map(({ serviceNs }) => serviceNs),
          waitedNs: requests.flatMap(({ waitedNs }) => waitedNs ?? []),
          doneNs: doneNs.map((job) => job.map((done) => done - startNs)),
          gpu,
        },
      ]),
    ),
  );
