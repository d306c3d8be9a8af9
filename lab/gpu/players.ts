// Puts the clients of an arrangement on a machine, for a window.
import { type Objective, withOverrides } from "#policy";
import type { WorkloadProfile } from "#profile";
import type { Rules } from "#protocol";
import type { Arrangement } from "./arrangements.ts";
import { Alternating, Barrier } from "./clients/alternating.ts";
import { BestEffort } from "./clients/besteffort.ts";
import { Board } from "./clients/board.ts";
import { HighClient, type Request } from "./clients/high.ts";
import { type Gate, openGate, ungated } from "./gate/gate.ts";
import { planOf } from "./jobs/planning.ts";
import type { Machine } from "./machine/machine.ts";
import { noPasses, notTwoTrainings } from "./model/errors.ts";
import type { Plan, Submission } from "./model/plan.ts";
import { partitionSms, percentSms } from "./model/presets.ts";
import { Policing } from "./policing.ts";

export interface Job {
  readonly profile: WorkloadProfile;
  readonly submission: Submission;
}

export interface HighJob extends Job {
  /** From the window's start, in ascending order; left out: a closed loop. */
  readonly arrivalsNs?: readonly number[];
  /** As given with `run --slo`. */
  readonly objective?: Objective;
}

export interface BestEffortJob extends Job {
  /** Arrivals of an inference, as for the high job. */
  readonly arrivalsNs?: readonly number[];
  /** Whether the job marks where its iterations begin; default true. */
  readonly marks?: boolean;
}

export interface Cast {
  readonly arrangement: Arrangement;
  readonly high: HighJob | undefined;
  readonly bestEffort: readonly BestEffortJob[];
  /** Arrivals count from this time. */
  readonly startNs: number;
  readonly gate: Gate | undefined;
}

export interface Players {
  /** Begins best-effort work, and requests that have arrivals. */
  start(): void;
  /** Begins a high job without arrivals. */
  startLoop(): void;
  /** Makes a closed loop begin nothing more. */
  stop(): void;
  /**
   * Whether everything that has arrived is served, and each best-effort job has ended an iteration since then or has
   * none left.
   */
  through(sinceNs: number): boolean;
  readonly requests: readonly Request[];
  /** Requests that have arrived and are not served, with the times until now. */
  unserved(): readonly Request[];
  /** For each best-effort job, the iterations done by now, with the part of the current one; undefined if not known. */
  iterations(): readonly number[] | undefined;
  /** For each best-effort job, when its iterations were done. */
  readonly doneNs: readonly (readonly number[])[];
  readonly level: number | undefined;
  /** The rules in force; undefined without a gate. */
  readonly rules: Rules | undefined;
}

export const playersOn = (machine: Machine, cast: Cast): Players =>
  cast.arrangement.alternating ? playersAlternating(machine, cast) : playersSharing(machine, cast);

/** One high client, any number of best-effort ones, and the gate between them if the arrangement has one. */
function playersSharing(
  machine: Machine,
  { arrangement, high, bestEffort, startNs, gate }: Cast,
): Players {
  const { gpu } = machine;
  const door = arrangement.gated ? (gate ?? openGate()) : ungated;
  const board = new Board(door);
  const partition = (asked: number | undefined) => partitionSms(gpu, asked ?? gpu.description.sms);
  const service = high && serve(machine, board, high, arrangement, startNs);
  const percent = percentSms(gpu, arrangement.bestEffortPercent);
  const smLimit = Math.min(percent, partition(arrangement.bestEffortSms));
  const splitProductsUs = arrangement.gated
    ? rulesOf(arrangement.gated, machine, service?.plan).splitProductsUs
    : 0;
  const trainings = bestEffort.map(({ profile, submission, arrivalsNs, marks = true }, slot) => {
    const options = {
      slot,
      priority: 0,
      smLimit,
      waits: profile.kind === "inference",
      marks,
      arrivalsNs: arrivalsNs?.map((ns) => startNs + ns),
    };
    const job = planOf(profile, gpu, submission, splitProductsUs);
    return new BestEffort(machine, board, machine.contexts.add(), job, options);
  });
  const colocated = trainings.map(({ stream }) => stream);
  const policing =
    arrangement.gated &&
    new Policing(machine, door, { ...arrangement.gated, high: service, colocated });
  const client = service?.client;
  return {
    start() {
      policing?.start();
      for (const training of trainings) training.start();
      if (high?.arrivalsNs) client?.start();
    },
    startLoop() {
      if (!high?.arrivalsNs) client?.start();
    },
    stop: () => client?.stop(),
    through: (sinceNs) =>
      (client?.idle ?? true) && trainings.every((training) => training.through(sinceNs)),
    requests: client?.requests ?? [],
    unserved: () => client?.unserved() ?? [],
    iterations: () => trainings.map(({ iterations }) => iterations),
    doneNs: trainings.map(({ doneNs }) => doneNs),
    get level() {
      return policing?.level;
    },
    get rules() {
      return arrangement.gated && door.rules;
    },
  };
}

/** The first rules of a policy. Those for dividing kernels and products do not change later. */
const rulesOf = (
  { policy, overrides }: NonNullable<Arrangement["gated"]>,
  { contexts, gpu }: Machine,
  request: Plan | undefined,
): Rules => {
  const high = request ? [{ name: "high", burstP50Us: request.soloNs / 1000 }] : [];
  const seen = { isolated: contexts.exclusive, high, smCount: gpu.description.sms };
  return withOverrides(policy.rules(seen, undefined), overrides);
};

function serve(
  machine: Machine,
  board: Board,
  high: HighJob,
  { priorities, announceNs, highSms }: Arrangement,
  startNs: number,
) {
  const { gpu } = machine;
  const plan = planOf(high.profile, gpu, high.submission);
  const client = new HighClient(machine, board, machine.contexts.add(), plan, {
    bit: 1,
    priority: priorities ? 1 : 0,
    arrivalsNs: high.arrivalsNs?.map((ns) => startNs + ns),
    announceNs,
    smLimit: partitionSms(gpu, highSms ?? gpu.description.sms),
  });
  return { client, plan, training: high.profile.kind === "training", objective: high.objective };
}

/** Two trainings that wait for each other. A training alone does not wait, and runs as in other arrangements. */
function playersAlternating(machine: Machine, cast: Cast): Players {
  const { arrangement, high, bestEffort } = cast;
  const [other, third] = bestEffort;
  if (!high || !other) return playersSharing(machine, { ...cast, gate: undefined });
  if (third || high.arrivalsNs) throw notTwoTrainings(arrangement.name);
  const barrier = new Barrier();
  const [first, second] = [high, other].map(({ profile, submission }, i) => {
    const plan = planOf(profile, machine.gpu, submission);
    const priority = arrangement.priorities && i === 0 ? 1 : 0;
    const options = { priority, backwardAt: markedIn(plan), late: i === 1 };
    return new Alternating(machine, barrier, plan, options);
  });
  return {
    start() {},
    startLoop: () => barrier.open(),
    stop() {},
    through: (sinceNs) => (second?.doneNs.at(-1) ?? 0) > sinceNs,
    requests: first?.requests ?? [],
    unserved: () => [],
    iterations: () => undefined,
    doneNs: [second?.doneNs ?? []],
    level: undefined,
    rules: undefined,
  };
}

function markedIn({ name, backwardAt }: Plan): number {
  if (backwardAt === undefined) throw noPasses(name);
  return backwardAt;
}
