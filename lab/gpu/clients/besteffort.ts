// A best-effort client: a closed loop that launches far ahead of the GPU, as an eager framework does. If it is gated,
// it puts preemption points between chunks and limits the queued work, or asks the gate before each launch. The gate makes all
// decisions. The steps are those of native/interposer/best_effort/best_effort.cpp. They are written twice because there
// a thread blocks, and here the client is called again. Durations of kernels count as learned.
import { answers, submission, whenActive } from "#protocol";
import type { Actor, Machine } from "../machine/machine.ts";
import { BORDER, type Context, END, MARK, type Owner, type Stream } from "../machine/stream.ts";
import type { Plan } from "../model/plan.ts";
import type { Board, HeldClient } from "./board.ts";
import { Helper } from "./helper.ts";
import { Outstanding } from "./outstanding.ts";
import { Position } from "./position.ts";

const LAUNCH = 0;
const LOOK = 1;

/** The queue is filled with the calls of this time. */
const AHEAD_NS = 20e6;
/** Without a gate, the queue is filled again when this few entries are left. */
const LOW = 256;
/** If the client asks before each launch: the time between two questions while a request holds it. */
const NAP_NS = 50e3;

export interface BestEffortOptions {
  readonly slot: number;
  readonly priority: number;
  readonly smLimit?: number;
  /** Whether the next iteration is launched only when the one before is done, as with requests. */
  readonly waits: boolean;
  /** Whether the program marks where its iterations begin. Otherwise each launch counts as an iteration. */
  readonly marks: boolean;
  /**
   * Arrivals of its requests, in ascending order. An iteration then also waits for its arrival. Left out: none waits.
   */
  readonly arrivalsNs?: readonly number[] | undefined;
}

export class BestEffort implements Owner, Actor, HeldClient {
  readonly slot: number;
  readonly stream: Stream;
  /** The times at which iterations were done. */
  readonly doneNs: number[] = [];
  /** The work of its kernels when the last iteration was done. */
  #workedNs = 0;
  readonly outstanding = new Outstanding();
  minProgress = 0;
  readonly #machine: Machine;
  readonly #board: Board;
  readonly #plan: Plan;
  readonly #waits: boolean;
  readonly #marks: boolean;
  readonly #arrivalsNs: readonly number[] | undefined;
  readonly #actor: number;
  readonly #helper: Helper;
  /** When the helper thread looks again. */
  #lookAt = 0;
  readonly #next: Position;
  #cpuAt = 0;
  #calledAt = Number.NaN;
  #inFlight = false;
  // The chunk since the last preemption point:
  #chunkUs = 0;
  #chunkLaunches = 0;
  #behindWait = false;
  #bordered = false;
  // For launches that the gate admits one by one:
  #askedSince = Number.NaN;
  #spentUs = 0;
  #dueNs = 0;
  progressedAt = Number.NEGATIVE_INFINITY;

  constructor(
    machine: Machine,
    board: Board,
    context: Context,
    plan: Plan,
    options: BestEffortOptions,
  ) {
    this.#machine = machine;
    this.#board = board;
    this.#plan = plan;
    this.#next = new Position(plan, board);
    this.slot = options.slot;
    this.#waits = options.waits;
    this.#marks = options.marks;
    this.#arrivalsNs = options.arrivalsNs;
    this.stream = machine.addStream(context, plan, this, options);
    this.#actor = machine.addActor(this);
    this.#helper = new Helper(board, this);
    board.clients[options.slot] = this;
  }

  start(): void {
    if (this.#board.gated) this.#machine.at(this.#machine.now, this.#actor, LOOK);
    this.#lookAt = this.now;
    this.refill();
    this.#machine.kick(this.stream);
  }

  get now(): number {
    return this.#machine.now;
  }

  get asks(): boolean {
    return !Number.isNaN(this.#askedSince);
  }

  /** Iterations done by now. The current one counts by the part of its kernels' work that is done. */
  get iterations(): number {
    const { durationNs, length } = this.#plan;
    const whole = durationNs.subarray(0, length).reduce((sum, ns) => sum + ns, 0);
    const part = whole > 0 ? (this.stream.workedNs - this.#workedNs) / whole : 0;
    return this.doneNs.length + Math.min(1, part);
  }

  /** Whether it has ended an iteration since then, or has none left to begin. */
  through(sinceNs: number): boolean {
    const { doneNs } = this;
    return doneNs.length === this.#arrivalsNs?.length || (doneNs.at(-1) ?? 0) > sinceNs;
  }

  wake(what: number): void {
    if (what === LOOK) {
      // Ignored if a preemption point came first and the poll was planned again.
      if (this.#lookAt === this.now) this.#look();
      return;
    }
    if (this.#calledAt !== this.now) return;
    this.#calledAt = Number.NaN;
    this.refill();
    this.#machine.kick(this.stream);
  }

  onBorder(stream: Stream): void {
    this.outstanding.reach();
    if (this.#helper.awaitsBorder) this.#look();
    if (stream.low === 0) this.refill();
  }

  mayPass(): boolean {
    return !this.#board.held(this.slot);
  }

  onRelease(): void {
    this.#machine.open(this.stream);
  }

  onOtherKernel(): void {
    if (this.asks) this.#callAt(this.now);
  }

  onKernel(): void {}

  onEnd(): void {
    this.doneNs.push(this.now);
    this.#workedNs = this.stream.finishedNs;
    this.#inFlight = false;
    if (this.#waits) this.refill();
  }

  #look(): void {
    this.#lookAt = this.now + this.#helper.look();
    this.#machine.at(this.#lookAt, this.#actor, LOOK);
  }

  /** Makes all calls that need not wait now. */
  refill(): void {
    const { gated, gate } = this.#board;
    const deep = gate.rules.submission === submission.deep;
    this.stream.low = gated ? 0 : LOW;
    while (
      !this.#inFlight &&
      this.#hasRequest() &&
      (gated ? (deep ? this.#deep() : this.#shallow()) : this.#plain())
    ) {
      this.#launch();
    }
  }

  /** Whether the next request has arrived. If not, the client is called when it arrives. */
  #hasRequest(): boolean {
    if (!this.#arrivalsNs || this.#next.midIteration) return true;
    const arrival = this.#arrivalsNs[this.doneNs.length];
    if (arrival === undefined) return false;
    if (arrival <= this.now) return true;
    this.#callAt(arrival);
    return false;
  }

  /** Submits without a gate. */
  #plain(): boolean {
    this.#behindWait = false;
    return this.stream.length < this.#machine.gpu.border.queueDepth && this.#soon(AHEAD_NS);
  }

  /** Deep submission: puts a preemption point if the chunk is full, then checks the limit on queued work. */
  #deep(): boolean {
    if (!this.#soon(AHEAD_NS)) return false;
    this.#board.waiting |= 1 << this.slot;
    const { gate } = this.#board;
    if (this.#next.copies && gate.rules.whenActive !== whenActive.wait && !this.#busFree())
      return false;
    if (!this.#bordered) {
      const fits =
        this.#behindWait && !gate.closes(this.#chunkUs, this.#chunkLaunches, this.#next.expectedUs);
      if (fits) return true;
      this.#put(BORDER);
      this.#bordered = true;
      this.#behindWait = true;
    }
    return gate.hasRoom(this.outstanding.launches, this.outstanding.us);
  }

  /** Whether a copy may be submitted now. If not, the client is called again. */
  #busFree(): boolean {
    const { now } = this;
    const board = this.#board;
    if (Number.isNaN(this.#askedSince)) this.#askedSince = now;
    const waitedUs = (now - this.#askedSince) / 1000;
    const answer = board.gate.admitCopy(waitedUs, this.outstanding.us, board.highCopying(now));
    if (answer === answers.run || answer === answers.progress) {
      this.#askedSince = Number.NaN;
      return true;
    }
    if (this.#chunkLaunches > 0) this.#put(MARK);
    this.#callAt(now + NAP_NS);
    return false;
  }

  /** Asks the gate before a launch, until the gate admits it. */
  #shallow(): boolean {
    if (!this.#soon(0)) return false;
    this.#board.waiting |= 1 << this.slot;
    const { now } = this;
    const us = this.#next.expectedUs;
    const { gate } = this.#board;
    if (Number.isNaN(this.#askedSince)) {
      this.#askedSince = now;
      if (gate.closes(this.#chunkUs, this.#chunkLaunches, us)) this.#put(MARK);
    }
    const { seen } = gate;
    this.#board.look(this.slot, now);
    seen.aheadUs = Math.ceil(this.outstanding.us);
    seen.kernelsOut = this.outstanding.launches;
    seen.heldUs = (now - this.#askedSince) / 1000;
    seen.progressedUs = Math.min(1e9, (now - this.progressedAt) / 1000);
    const { kernelClass, units } = this.#next;
    const sms = Math.min(this.#machine.gpu.description.sms, Math.ceil(units));
    const { budgetUs, launchEveryNs } = gate.rules;
    seen.spentUs = this.#spentUs;
    seen.earlyNs = Math.max(0, this.#dueNs - now);
    seen.midIteration = this.#marks && this.#next.midIteration;
    seen.highCopying = this.#next.copies && this.#board.highCopying(now);
    const answer = gate.admit(us, kernelClass, sms, this.#next.copies);
    if (answer === answers.progress) {
      this.progressedAt = now;
      this.minProgress++;
    }
    if (answer === answers.run || answer === answers.progress) {
      this.#askedSince = Number.NaN;
      if (budgetUs > 0) this.#spentUs = gate.spentAfter();
      if (launchEveryNs > 0) this.#dueNs = gate.dueAfter(this.#dueNs, now);
      return true;
    }
    if (answer === answers.paced) {
      this.#callAt(this.#dueNs);
      return false;
    }
    // Submitted work must have a mark behind it. Otherwise its end would never be seen.
    if (this.#chunkLaunches > 0) this.#put(MARK);
    this.#callAt(now + NAP_NS);
    return false;
  }

  /** Whether the thread reaches this point within the given time. If not, it is called then. */
  #soon(within: number): boolean {
    if (this.#cpuAt <= this.now + within) return true;
    this.#callAt(this.#cpuAt - within / 2);
    return false;
  }

  #callAt(time: number): void {
    if (this.#calledAt <= time && this.#calledAt > this.now) return;
    this.#calledAt = time;
    this.#machine.at(time, this.#actor, LAUNCH);
  }

  #put(code: number): void {
    this.#cpuAt = Math.max(this.#cpuAt, this.now) + this.#machine.gpu.border.cpuNs;
    this.stream.push(code, this.#cpuAt);
    this.outstanding.mark();
    this.#chunkUs = 0;
    this.#chunkLaunches = 0;
  }

  /** Makes one call: a kernel, a copy or a piece of it, or a whole graph. */
  #launch(): void {
    const { cpuNs } = this.#plan;
    const { expectedUs, copies, step: from, upTo, piece, part } = this.#next;
    this.#bordered = false;
    this.outstanding.add(expectedUs);
    this.#chunkUs += expectedUs;
    this.#chunkLaunches++;
    this.#cpuAt = Math.max(this.#cpuAt, this.now);
    if (copies)
      this.stream.pieceBytes = this.#board.gated
        ? this.#board.gate.rules.copyPieceBytes
        : Number.POSITIVE_INFINITY;
    if (piece > 0) this.#cpuAt += this.#machine.gpu.launchNs;
    for (let step = from; step < upTo; step++) {
      if (piece === 0) this.#cpuAt += cpuNs[step] ?? 0;
      this.stream.push(part ?? step, this.#cpuAt);
    }
    if (!this.#next.advance()) return;
    this.stream.push(END, this.#cpuAt);
    this.#inFlight = this.#waits;
  }
}
