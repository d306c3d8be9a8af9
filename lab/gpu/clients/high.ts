// A high client: requests in an open loop, one at a time, or a closed loop if there are no arrivals. Each request is
// the whole sequence of its profile. The client never waits for Cotenant. It publishes when it is busy, and sets and
// clears the pause flags. native/interposer/high/high.cpp has to find out where requests begin and end; here that is
// known.
import type { UsualBurst } from "#policy";
import { constants } from "#protocol";
import type { Actor, Machine } from "../machine/machine.ts";
import { type Context, END, type Owner, type Stream } from "../machine/stream.ts";
import { COPY_IN, expectedCopyNs, KERNEL, type Plan } from "../model/plan.ts";
import type { Board, Crossing } from "./board.ts";

const ARRIVE = 0;
const ANNOUNCE = 1;
const OLD = 2;

/** Times of one request in ns. */
export interface Request {
  readonly arrivalNs: number;
  readonly latencyNs: number;
  readonly serviceNs: number;
}

/** In ns. */
interface Burst {
  readonly endNs: number;
  readonly lastedNs: number;
  /** From the last launch on, because the CPU has nothing else to do then. */
  readonly waitedNs: number;
}

export interface HighOptions {
  readonly bit: number;
  readonly priority: number;
  readonly smLimit?: number;
  /** In ascending order; undefined: a closed loop. */
  readonly arrivalsNs: readonly number[] | undefined;
  readonly announceNs: number;
}

export class HighClient implements Owner, Actor {
  readonly stream: Stream;
  readonly requests: Request[] = [];
  readonly bursts: Burst[] = [];
  readonly #machine: Machine;
  readonly #board: Board;
  readonly #plan: Plan;
  readonly #options: HighOptions;
  readonly #actor: number;
  #arrived = 0;
  #begun = 0;
  #announced = 0;
  #serving = false;
  #servedFrom = 0;
  #launchedAt = 0;
  /** When each step of the plan is submitted, in ns after the start. */
  readonly #submitted: Float64Array;
  #submittedSteps = 0;
  #oldFrom = 0;
  #stopped = false;

  constructor(machine: Machine, board: Board, context: Context, plan: Plan, options: HighOptions) {
    this.#machine = machine;
    this.#board = board;
    this.#plan = plan;
    this.#options = options;
    this.#submitted = submissionsOf(plan);
    this.stream = machine.addStream(context, plan, this, options);
    this.#actor = machine.addActor(this);
    board.registered |= options.bit;
  }

  start(): void {
    if (!this.#options.arrivalsNs) this.#begin();
    else {
      this.#await(this.#arrived, 0, ARRIVE);
      if (this.#options.announceNs > 0) this.#await(0, this.#options.announceNs, ANNOUNCE);
    }
  }

  /** Each request launches as much: its kernels and copies, or one graph. undefined until one has ended. */
  get usualBurst(): UsualBurst | undefined {
    const lastedNs = this.bursts.at(-1)?.lastedNs;
    const launches = this.#plan.submission === "graph" ? 1 : this.#plan.length;
    return lastedNs === undefined ? undefined : { launches, us: lastedNs / 1000 };
  }

  /** Makes a closed loop begin nothing more. */
  stop(): void {
    this.#stopped = true;
  }

  /** Whether everything that has arrived is served. */
  get idle(): boolean {
    const { arrivalsNs } = this.#options;
    return !this.#serving && (!arrivalsNs || this.#begun === arrivalsNs.length);
  }

  /** Requests that have arrived and are not served, as if they were served now: their times are lower bounds. */
  unserved(): Request[] {
    const { now } = this.#machine;
    const { arrivalsNs } = this.#options;
    const serviceNs = this.#serving ? now - this.#servedFrom : 0;
    const first = this.requests.length;
    if (!arrivalsNs)
      return this.#serving
        ? [{ arrivalNs: this.#servedFrom, latencyNs: serviceNs, serviceNs }]
        : [];
    return arrivalsNs
      .slice(first)
      .filter((ns) => ns <= now)
      .map((arrivalNs, i) => ({
        arrivalNs,
        latencyNs: now - arrivalNs,
        serviceNs: i === 0 ? serviceNs : 0,
      }));
  }

  wake(what: number): void {
    if (what === ARRIVE) {
      this.#await(++this.#arrived, 0, ARRIVE);
      if (!this.#serving) this.#begin();
    } else if (what === OLD) {
      if (this.#serving && this.#machine.now === this.#oldFrom)
        this.#board.growOld(this.#options.bit, this.#machine.now);
    } else {
      this.#await(++this.#announced, this.#options.announceNs, ANNOUNCE);
      this.#board.busy(this.#options.bit, this.#machine.now);
    }
  }

  onKernel(stream: Stream, step: number): void {
    const { plan } = stream;
    const { now, gpu } = this.#machine;
    if (this.#queued(step) > constants.CROWDED_QUEUE) this.#launchedAt = this.#servedFrom;
    const leaves = Math.max(0, gpu.description.sms - Math.ceil(plan.units[step] ?? 0));
    this.#board.highKernel(plan.kernelClass[step] ?? 0, leaves, now + (plan.durationNs[step] ?? 0));
  }

  onEnd(): void {
    const { now } = this.#machine;
    const serviceNs = now - this.#servedFrom;
    const arrivalNs = this.#options.arrivalsNs?.[this.#begun - 1] ?? this.#servedFrom;
    this.requests.push({ arrivalNs, latencyNs: now - arrivalNs, serviceNs });
    this.bursts.push({ endNs: now, lastedNs: serviceNs, waitedNs: now - this.#launchedAt });
    this.#serving = false;
    // The next request is about to arrive, so there is no gap before it.
    if (this.#announced <= this.#begun) this.#board.idle(this.#options.bit, now);
    const { arrivalsNs } = this.#options;
    if (arrivalsNs ? this.#begun < this.#arrived : !this.#stopped) this.#begin();
  }

  onBorder(): void {}
  mayPass(): boolean {
    return true;
  }
  refill(): void {}

  #await(index: number, before: number, what: number): void {
    const arrival = this.#options.arrivalsNs?.[index];
    const machine = this.#machine;
    if (arrival !== undefined)
      machine.at(Math.max(machine.now, arrival - before), this.#actor, what);
  }

  #begin(): void {
    const { now } = this.#machine;
    this.#begun++;
    this.#serving = true;
    this.#servedFrom = now;
    this.#board.busy(this.#options.bit, now);
    const { length, kind, bytes } = this.#plan;
    const crossings: Crossing[] = [];
    this.#submittedSteps = 0;
    let cpu = now;
    for (let step = 0; step < length; step++) {
      cpu = now + (this.#submitted[step] ?? 0);
      this.stream.push(step, cpu);
      if (kind[step] !== KERNEL)
        crossings.push(crossing(cpu, kind[step] === COPY_IN, bytes[step] ?? 0));
    }
    this.#board.copies(this.#options.bit, crossings);
    this.stream.push(END, cpu);
    this.#launchedAt = cpu;
    this.#awaitAge(cpu);
    this.#machine.kick(this.stream);
  }

  /** When the request counts as old. `launched`: the CPU has submitted all of it, and waits. */
  #awaitAge(launched: number): void {
    const { now } = this.#machine;
    const { graceUs, graceLaunches, coRunUntilLaunches } = this.#board.gate.rules;
    const after = graceUs > 0 ? graceLaunches : coRunUntilLaunches;
    const oldAfter = this.#submitted[after - 1];
    this.#oldFrom = oldAfter === undefined ? launched : now + oldAfter;
    if (graceUs > 0 || oldAfter !== undefined) this.#machine.at(this.#oldFrom, this.#actor, OLD);
  }

  /**
   * Steps that are submitted and not begun. Where they may fill the driver's queue, the program waits in its launches; the real
   * client knows that by words in its stream (native/interposer/high/queue.h), after its first bursts of that kind.
   */
  #queued(step: number): number {
    const since = this.#machine.now - this.#servedFrom;
    if (this.#plan.submission === "graph") return 0;
    while ((this.#submitted[this.#submittedSteps] ?? Number.POSITIVE_INFINITY) <= since)
      this.#submittedSteps++;
    return this.#submittedSteps - step;
  }
}

function submissionsOf({ length, cpuNs }: Plan): Float64Array {
  const times = new Float64Array(length);
  for (let step = 0, cpu = 0; step < length; step++) {
    cpu += cpuNs[step] ?? 0;
    times[step] = cpu;
  }
  return times;
}

/**
 * A copy to the host comes after kernels of unknown length, so it counts until the request ends. high_publish_copy() of
 * native/interposer/high/publish.cpp does the same, but knows a copy only when it is made.
 */
const crossing = (launchedNs: number, isIn: boolean, bytes: number): Crossing => ({
  fromNs: launchedNs,
  untilNs: isIn ? launchedNs + expectedCopyNs(bytes) : Number.POSITIVE_INFINITY,
});
