// One window on the modelled GPU: an arrangement of jobs for some seconds of virtual time, and what came of it,
// in the shape that a measured window has.
import type { WorkloadProfile } from "#profile";
import { constants } from "#protocol";
import type { Arrangement } from "./arrangements.ts";
import { BestEffort } from "./besteffort.ts";
import { Board } from "./board.ts";
import { noJob, tooManyBestEffort } from "./faults.ts";
import { type Gate, openDoor, openGate } from "./gate.ts";
import { HighClient, type Request } from "./high.ts";
import { Machine } from "./machine.ts";
import { planOf, type Submission } from "./plan.ts";
import { Policing } from "./policing.ts";
import { type GpuModel, modelOf, partitionSms } from "./presets.ts";

export interface Job {
  readonly profile: WorkloadProfile;
  readonly submission: Submission;
}

export interface WindowPlan {
  readonly arrangement: Arrangement;
  readonly high?: Job & {
    /** Since the window's start, rising; left out: a closed loop. */
    readonly arrivalsNs?: readonly number[];
  };
  readonly bestEffort: readonly Job[];
  readonly seconds: number;
  /** Default: the GPU that the first profile comes from. */
  readonly gpu?: GpuModel;
  readonly seed?: number;
  /** False: every kernel takes its p50. Default: spread as between p50 and p95. */
  readonly spread?: boolean;
  readonly gate?: Gate;
}

export interface ModelWindow {
  readonly startNs: number;
  readonly endNs: number;
  /** Where the settling ended; what lies before counts for nothing. */
  readonly settledNs: number;
  readonly requests: readonly Request[];
  /** When iterations were done, by best-effort job. */
  readonly doneNs: readonly (readonly number[])[];
  /** Between `settledNs` and `endNs`: parts of the whole, means. */
  readonly gpu: {
    readonly smActivity: number;
    readonly dramActivity: number;
    readonly smClockMHz: number | undefined;
    readonly powerW: number | undefined;
    /** A kernel ran. */
    readonly busy: number;
    readonly compute: number;
    readonly linkIn: number;
    readonly linkOut: number;
  };
  readonly events: number;
  readonly kernels: number;
  readonly switches: number;
}

/** Best-effort work is in full swing when requests begin. */
const LEAD_NS = 100e6;
const SETTLE_NS = 400e6;
/** An open loop that can't keep up is served so many times the window, no longer. */
const PATIENCE = 4;

export function runWindow(plan: WindowPlan): ModelWindow {
  const { arrangement } = plan;
  const high = arrangement.high ? plan.high : undefined;
  const bestEffort = arrangement.bestEffort ? plan.bestEffort : [];
  const first = high ?? bestEffort[0];
  if (!first) throw noJob(arrangement.name);
  if (bestEffort.length > constants.MAX_BEST_EFFORT)
    throw tooManyBestEffort(bestEffort.length, constants.MAX_BEST_EFFORT);
  const gpu = plan.gpu ?? modelOf(first.profile.gpu.name);
  const exclusive = arrangement.sharing === "slices";
  const machine = new Machine(gpu, {
    exclusive,
    seed: plan.seed ?? 1,
    spread: plan.spread ?? true,
  });
  const gate = arrangement.gated ? (plan.gate ?? openGate()) : openDoor;
  const board = new Board(gate);
  const startNs = bestEffort.length > 0 ? LEAD_NS : 0;
  const endNs = startNs + plan.seconds * 1e9;
  const settledNs = startNs + Math.min(SETTLE_NS, (plan.seconds * 1e9) / 3);

  const partition = (asked: number | undefined) => partitionSms(gpu, asked ?? gpu.description.sms);
  const priority = arrangement.priorities ? 1 : 0;
  const service = high && planOf(high.profile, gpu, high.submission);
  const client =
    service &&
    new HighClient(machine, board, machine.contexts.add(), service, {
      bit: 1,
      priority,
      arrivalsNs: high.arrivalsNs?.map((ns) => startNs + ns),
      announceNs: arrangement.announceNs,
      smLimit: partition(arrangement.highSms),
    });
  const percent = Math.round((gpu.description.sms * arrangement.bestEffortPercent) / 100);
  const smLimit = Math.min(percent, partition(arrangement.bestEffortSms));
  const trainings = bestEffort.map(({ profile, submission }, slot) => {
    const job = planOf(profile, gpu, submission);
    const waits = profile.kind === "inference";
    const context = machine.contexts.add();
    const options = { slot, priority: 0, smLimit, waits };
    return new BestEffort(machine, board, context, job, options);
  });
  if (arrangement.gated)
    new Policing(machine, gate, arrangement.gated, client).start(service?.soloNs);
  for (const training of trainings) training.start();
  if (high?.arrivalsNs) client?.start();
  machine.run(startNs);
  if (!high?.arrivalsNs) client?.start();

  machine.run(settledNs);
  const before = reading(machine);
  machine.run(endNs);
  const after = reading(machine);
  // What has arrived is served, beside best-effort work, to the last.
  client?.stop();
  const latest = startNs + PATIENCE * plan.seconds * 1e9;
  while (client && !client.idle && machine.now < latest) machine.run(machine.now + 10e6);

  const counts = ({ arrivalNs }: Request) => arrivalNs >= settledNs && arrivalNs < endNs;
  return {
    startNs,
    endNs,
    settledNs,
    requests: (client?.requests ?? []).filter(counts),
    doneNs: trainings.map(({ doneNs }) => doneNs),
    gpu: between(before, after, endNs - settledNs),
    events: machine.events,
    kernels: machine.streams.reduce((sum, { finished }) => sum + finished, 0),
    switches: machine.contexts.switches,
  };
}

type Reading = ReturnType<typeof reading>;

const reading = ({ processors, clock, link }: Machine) => ({
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
