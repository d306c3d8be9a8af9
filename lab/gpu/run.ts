// Runs one window on the modelled GPU: an arrangement of jobs for some seconds of virtual time. The result has the
// same fields as a measured window.
import type { Rules } from "#protocol";
import { constants } from "#protocol";
import type { Arrangement } from "./arrangements.ts";
import type { Request } from "./clients/high.ts";
import type { Gate } from "./gate/gate.ts";
import { Machine } from "./machine/machine.ts";
import { noJob, tooManyBestEffort } from "./model/errors.ts";
import { type GpuModel, modelOf, type Slices } from "./model/presets.ts";
import { type BestEffortJob, type HighJob, playersOn } from "./players.ts";

export interface WindowPlan {
  readonly arrangement: Arrangement;
  readonly high?: HighJob;
  readonly bestEffort: readonly BestEffortJob[];
  readonly seconds: number;
  /** Seconds before the window, so that a policy can learn; default 0. Arrivals count from their beginning. */
  readonly learnSeconds?: number;
  /** Default: the GPU on which the first profile was measured. */
  readonly gpu?: GpuModel;
  readonly seed?: number;
  /** False: every kernel takes its p50. Default: durations vary as p50 and p95 say. */
  readonly spread?: boolean;
  readonly gate?: Gate;
}

export interface ModelWindow {
  /** When the learning ended. */
  readonly startNs: number;
  readonly endNs: number;
  /** When the settling ended. What comes before does not count. */
  readonly settledNs: number;
  /** Those that were not served end when the window was given up: their times are lower bounds. */
  readonly requests: readonly Request[];
  /** How many of them were not served. */
  readonly unserved: number;
  /**
   * For each best-effort job, when its iterations were done: those that ended in the window, and at least the next one.
   */
  readonly doneNs: readonly (readonly number[])[];
  /** For each best-effort job, iterations from `settledNs` to `endNs`; undefined if only their ends are known. */
  readonly iterations: readonly number[] | undefined;
  /** Means from `settledNs` to `endNs`, as parts of the maximum. */
  readonly gpu: {
    readonly smActivity: number;
    readonly dramActivity: number;
    readonly smClockMHz: number | undefined;
    readonly powerW: number | undefined;
    /** The part of the time in which a kernel ran. */
    readonly busy: number;
    readonly compute: number;
    readonly linkIn: number;
    readonly linkOut: number;
  };
  readonly events: number;
  readonly kernels: number;
  readonly switches: number;
  /** At the end, for a policy that learns. */
  readonly level: number | undefined;
  /** The rules in force when the window ended; undefined without a gate. */
  readonly rules: Rules | undefined;
}

/** Best-effort work runs for this long before requests begin. */
const LEAD_NS = 100e6;
const SETTLE_NS = 400e6;
/** An overloaded open loop, or an iteration that does not end, extends the window to at most this multiple. */
const PATIENCE = 4;

/** For threads of one process: a job keeps the GPU until it has nothing to run, and no context is switched. */
const endless: Slices = {
  sliceNs: Number.POSITIVE_INFINITY,
  standNs: 0,
  switchNs: 0,
  preemptNs: 0,
  shallow: 0,
};

export function runWindow(plan: WindowPlan): ModelWindow {
  const { arrangement } = plan;
  const high = arrangement.high ? plan.high : undefined;
  const bestEffort = arrangement.bestEffort ? plan.bestEffort : [];
  const first = high ?? bestEffort[0];
  if (!first) throw noJob(arrangement.name);
  if (bestEffort.length > constants.MAX_BEST_EFFORT)
    throw tooManyBestEffort(bestEffort.length, constants.MAX_BEST_EFFORT);
  const described = plan.gpu ?? modelOf(first.profile.gpu.name);
  const gpu =
    arrangement.sharing === "one-at-a-time" ? { ...described, slices: endless } : described;
  const exclusive = arrangement.sharing !== "side-by-side";
  const machine = new Machine(gpu, {
    exclusive,
    pauseNs: arrangement.mps ? gpu.mpsNs : 0,
    seed: plan.seed ?? 1,
    spread: plan.spread ?? true,
  });
  const firstNs = bestEffort.length > 0 ? LEAD_NS : 0;
  const startNs = firstNs + (plan.learnSeconds ?? 0) * 1e9;
  const endNs = startNs + plan.seconds * 1e9;
  const settledNs = startNs + Math.min(SETTLE_NS, (plan.seconds * 1e9) / 3);

  const { gate } = plan;
  const players = playersOn(machine, { arrangement, high, bestEffort, startNs: firstNs, gate });
  players.start();
  machine.run(firstNs);
  players.startLoop();

  machine.run(settledNs);
  const before = readMachine(machine);
  const iterationsBefore = players.iterations();
  machine.run(endNs);
  const after = readMachine(machine);
  const iterations = players.iterations()?.map((n, i) => n - (iterationsBefore?.[i] ?? 0));
  const { rules } = players;
  // All requests that have arrived are served beside best-effort work, and each job ends its current iteration.
  // Otherwise its progress would be unknown.
  players.stop();
  const latest = startNs + PATIENCE * plan.seconds * 1e9;
  while (!players.through(endNs) && machine.now < latest) machine.run(machine.now + 10e6);

  const counts = ({ arrivalNs }: Request) => arrivalNs >= settledNs && arrivalNs < endNs;
  const unserved = players.unserved().filter(counts);
  return {
    startNs,
    endNs,
    settledNs,
    requests: [...players.requests.filter(counts), ...unserved],
    unserved: unserved.length,
    iterations,
    doneNs: players.doneNs,
    gpu: between(before, after, endNs - settledNs),
    events: machine.events,
    kernels: machine.streams.reduce((sum, { finished }) => sum + finished, 0),
    switches: machine.contexts.switches,
    level: players.level,
    rules,
  };
}

type Reading = ReturnType<typeof readMachine>;

const readMachine = ({ processors, clock, link }: Machine) => ({
  held: processors.heldNs,
  busy: processors.busyNs,
  compute: processors.computeNs,
  dram: processors.dramNs,
  linkIn: link.busyNs(0),
  linkOut: link.busyNs(1),
  clock: { ticks: 0, mhz: 0, watts: 0, ...clock?.sums },
});

function between(from: Reading, to: Reading, ns: number): ModelWindow["gpu"] {
  const part = (of: Exclude<keyof Reading, "clock">) => (to[of] - from[of]) / ns;
  const ticks = to.clock.ticks - from.clock.ticks;
  const mean = (of: "mhz" | "watts") =>
    ticks > 0 ? (to.clock[of] - from.clock[of]) / ticks : undefined;
  return {
    smActivity: part("held"),
    dramActivity: part("dram"),
    smClockMHz: mean("mhz"),
    powerW: mean("watts"),
    busy: part("busy"),
    compute: part("compute"),
    linkIn: part("linkIn"),
    linkOut: part("linkOut"),
  };
}
