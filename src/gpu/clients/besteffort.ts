// A best-effort client: a closed loop that launches far ahead of the GPU, as an eager framework does, and, where
// it is gated, what its interposer does: borders between chunks, room for so much queued work, or launch by
// launch. After native/interposer/best_effort/best_effort.cpp; how long a kernel will run counts as learned already.
import { submission, whenActive } from "#protocol";
import { newSeen, PACED, RUN, type Seen, TRICKLE } from "../gate.ts";
import type { Actor, Machine } from "../machine/machine.ts";
import { BORDER, type Context, END, MARK, type Owner, type Stream } from "../machine/stream.ts";
import { expectedCopyNs, KERNEL, type Plan, piecesOf } from "../plan.ts";
import type { Board, HeldClient } from "./board.ts";
import { Helper } from "./helper.ts";

const LAUNCH = 0;
const LOOK = 1;

/** The queue is filled up with calls that will be made within this. */
const AHEAD_NS = 20e6;
/** Without a gate it is filled up when so few entries are left. */
const LOW = 256;
/** Held by a request, launch by launch: naps between two looks. */
const NAP_NS = 50e3;
const MARKS = 1024;

export interface BestEffortOptions {
  readonly slot: number;
  readonly priority: number;
  readonly smLimit?: number;
  /** The next iteration is launched only when the one before is done, as requests are. */
  readonly waits: boolean;
  /** It says where its iterations begin; else each launch counts as one. */
  readonly marks: boolean;
  /** And when its request has arrived: rising; left out: at once. */
  readonly arrivalsNs?: readonly number[] | undefined;
}

export class BestEffort implements Owner, Actor, HeldClient {
  readonly slot: number;
  readonly stream: Stream;
  /** When iterations were done. */
  readonly doneNs: number[] = [];
  /** Borders and marks that the GPU has come to. */
  passed = 0;
  trickles = 0;
  readonly #machine: Machine;
  readonly #board: Board;
  readonly #plan: Plan;
  readonly #waits: boolean;
  readonly #marks: boolean;
  readonly #arrivalsNs: readonly number[] | undefined;
  readonly #actor: number;
  readonly #helper: Helper;
  readonly #seen: Seen = newSeen();
  /** When the helper thread looks again. */
  #lookAt = 0;
  #step = 0;
  /** Pieces of the copy, or parts of the product, at hand that have been launched. */
  #piece = 0;
  #cpuAt = 0;
  #calledAt = Number.NaN;
  #inFlight = false;
  // The chunk since the last border.
  #chunkUs = 0;
  #chunkLaunches = 0;
  #behindWait = false;
  #bordered = false;
  // What has been submitted in all, and up to each mark.
  #submittedUs = 0;
  #launches = 0;
  #finishedUs = 0;
  #finishedLaunches = 0;
  #issued = 0;
  readonly #markUs = new Float64Array(MARKS);
  readonly #markLaunches = new Float64Array(MARKS);
  // Launch by launch.
  #askedSince = Number.NaN;
  #spentUs = 0;
  #dueNs = 0;
  trickledAt = Number.NEGATIVE_INFINITY;

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

  get outstandingUs(): number {
    return this.#submittedUs - this.#finishedUs;
  }

  get outstandingLaunches(): number {
    return this.#launches - this.#finishedLaunches;
  }

  get asks(): boolean {
    return !Number.isNaN(this.#askedSince);
  }

  /** Has it ended an iteration since then, or none left to begin? */
  through(sinceNs: number): boolean {
    const { doneNs } = this;
    return doneNs.length === this.#arrivalsNs?.length || (doneNs.at(-1) ?? 0) > sinceNs;
  }

  wake(what: number): void {
    if (what === LOOK) {
      // One that was planned before a border came sooner is over.
      if (this.#lookAt === this.now) this.#look();
      return;
    }
    if (this.#calledAt !== this.now) return;
    this.#calledAt = Number.NaN;
    this.refill();
    this.#machine.kick(this.stream);
  }

  reached(stream: Stream): void {
    const at = ++this.passed % MARKS;
    this.#finishedUs = this.#markUs[at] ?? 0;
    this.#finishedLaunches = this.#markLaunches[at] ?? 0;
    if (this.#helper.awaitsBorder) this.#look();
    if (stream.low === 0) this.refill();
  }

  released(): boolean {
    return !this.#board.held(this.slot);
  }

  opened(): void {
    this.#machine.open(this.stream);
  }

  otherKernel(): void {
    if (this.asks) this.#callAt(this.now);
  }

  began(): void {}

  ended(): void {
    this.doneNs.push(this.now);
    this.#inFlight = false;
    if (this.#waits) this.refill();
  }

  #look(): void {
    this.#lookAt = this.now + this.#helper.look();
    this.#machine.at(this.#lookAt, this.#actor, LOOK);
  }

  /** Makes the calls that nothing holds up. */
  refill(): void {
    const { gated, gate } = this.#board;
    const deep = gate.rules.submission === submission.deep;
    this.stream.low = gated ? 0 : LOW;
    while (
      !this.#inFlight &&
      this.#arrived() &&
      (gated ? (deep ? this.#deep() : this.#shallow()) : this.#plain())
    ) {
      this.#launch();
    }
  }

  /** The request whose turn it is; else it is called when it comes. */
  #arrived(): boolean {
    if (!this.#arrivalsNs || this.#step > 0 || this.#piece > 0) return true;
    const arrival = this.#arrivalsNs[this.doneNs.length];
    if (arrival === undefined) return false;
    if (arrival <= this.now) return true;
    this.#callAt(arrival);
    return false;
  }

  /** Nothing of ours in between. */
  #plain(): boolean {
    this.#behindWait = false;
    return this.stream.length < this.#machine.gpu.border.queueDepth && this.#soon(AHEAD_NS);
  }

  /** Deep submission: a border where the chunk is full, then room for what is queued. */
  #deep(): boolean {
    if (!this.#soon(AHEAD_NS)) return false;
    this.#board.waiting |= 1 << this.slot;
    const { gate } = this.#board;
    if (this.#copies && gate.rules.whenActive !== whenActive.wait && !this.#busFree()) return false;
    if (!this.#bordered) {
      const fits =
        this.#behindWait && !gate.closes(this.#chunkUs, this.#chunkLaunches, this.#itemUs());
      if (fits) return true;
      this.#put(BORDER);
      this.#bordered = true;
      this.#behindWait = true;
    }
    const { submitUs, submitLaunches } = gate.rules;
    const room = this.outstandingLaunches < Math.min(submitLaunches, 800);
    return room && this.outstandingUs < Math.max(100, submitUs);
  }

  /**
   * Where holds let everything pass: a copy takes place soon after it is submitted, and not while a high one
   * crosses the link.
   */
  #busFree(): boolean {
    const { now } = this;
    const { rules } = this.#board.gate;
    if (Number.isNaN(this.#askedSince)) this.#askedSince = now;
    const waitedUs = (now - this.#askedSince) / 1000;
    const soon = waitedUs >= rules.submitUs || this.outstandingUs <= rules.chunkUs;
    if ((soon && !this.#board.highCopying(now)) || waitedUs >= rules.trickleAfterUs) {
      this.#askedSince = Number.NaN;
      return true;
    }
    if (this.#chunkLaunches > 0) this.#put(MARK);
    this.#callAt(now + NAP_NS);
    return false;
  }

  /** Launch by launch: asks the gate until it lets this one through. */
  #shallow(): boolean {
    if (!this.#soon(0)) return false;
    this.#board.waiting |= 1 << this.slot;
    const { now } = this;
    const us = this.#itemUs();
    const { gate } = this.#board;
    if (Number.isNaN(this.#askedSince)) {
      this.#askedSince = now;
      if (gate.closes(this.#chunkUs, this.#chunkLaunches, us)) this.#put(MARK);
    }
    const seen = this.#seen;
    this.#board.look(this.slot, seen, now);
    seen.aheadUs = this.outstandingUs;
    seen.kernelsOut = this.outstandingLaunches;
    seen.heldUs = (now - this.#askedSince) / 1000;
    seen.trickledUs = Math.min(1e9, (now - this.trickledAt) / 1000);
    const graph = this.#plan.submission === "graph";
    const kernelClass = graph ? 0 : (this.#plan.kernelClass[this.#step] ?? 0);
    const units = graph ? 0 : (this.#plan.units[this.#step] ?? 0);
    const sms = Math.min(this.#machine.gpu.description.sms, Math.ceil(units));
    const { budgetUs, launchEveryNs } = gate.rules;
    seen.spentUs = this.#spentUs;
    seen.earlyNs = Math.max(0, this.#dueNs - now);
    seen.midIteration = this.#marks && (this.#step > 0 || this.#piece > 0);
    seen.highCopying = this.#copies && this.#board.highCopying(now);
    const answer = gate.admit(seen, us, kernelClass, sms, this.#copies);
    if (answer === TRICKLE) {
      this.trickledAt = now;
      this.trickles++;
    }
    if (answer === RUN || answer === TRICKLE) {
      this.#askedSince = Number.NaN;
      if (budgetUs > 0) this.#spentUs = gate.spentAfter();
      if (launchEveryNs > 0) this.#dueNs = gate.dueAfter(this.#dueNs, now);
      return true;
    }
    if (answer === PACED) {
      this.#callAt(this.#dueNs);
      return false;
    }
    // What is out must have a mark behind it, or its end would never be seen.
    if (this.#chunkLaunches > 0) this.#put(MARK);
    this.#callAt(now + NAP_NS);
    return false;
  }

  /** Is the thread there within so much? Else it is called then. */
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

  #itemUs(): number {
    const { submission: how, graphUs, expectedUs, bytes } = this.#plan;
    if (how === "graph") return graphUs;
    if (this.#inParts) return expectedUs[this.#part] ?? 0;
    const pieces = this.#pieces;
    return pieces === 1
      ? (expectedUs[this.#step] ?? 0)
      : Math.ceil(expectedCopyNs((bytes[this.#step] ?? 0) / pieces) / 1000);
  }

  /** What comes next is a copy by itself. */
  get #copies(): boolean {
    const { submission: how, kind } = this.#plan;
    return how === "kernels" && kind[this.#step] !== KERNEL;
  }

  /** What comes next is a part of a product: begun whole, it stays whole. */
  get #inParts(): boolean {
    const { submission: how, partCount } = this.#plan;
    if (how === "graph" || (partCount[this.#step] ?? 0) === 0) return false;
    return this.#piece > 0 || (this.#board.gated && this.#board.gate.rules.splitProductsUs > 0);
  }

  /** As a step of the plan. */
  get #part(): number {
    return (this.#plan.partsFrom[this.#step] ?? 0) + this.#piece;
  }

  /** Items that the step at hand is submitted in. */
  get #pieces(): number {
    if (this.#inParts) return this.#plan.partCount[this.#step] ?? 1;
    if (!this.#copies || !this.#board.gated) return 1;
    return piecesOf(this.#plan.bytes[this.#step] ?? 0, this.#board.gate.rules.copyPieceBytes);
  }

  #put(code: number): void {
    this.#cpuAt = Math.max(this.#cpuAt, this.now) + this.#machine.gpu.border.cpuNs;
    this.stream.push(code, this.#cpuAt);
    const at = ++this.#issued % MARKS;
    this.#markUs[at] = this.#submittedUs;
    this.#markLaunches[at] = this.#launches;
    this.#chunkUs = 0;
    this.#chunkLaunches = 0;
  }

  /** One call: a kernel, a copy or a piece of it, or a whole graph. */
  #launch(): void {
    const { length, cpuNs, submission: how } = this.#plan;
    const us = this.#itemUs();
    const pieces = this.#pieces;
    const part = this.#inParts ? this.#part : undefined;
    this.#bordered = false;
    this.#submittedUs += us;
    this.#launches++;
    this.#chunkUs += us;
    this.#chunkLaunches++;
    this.#cpuAt = Math.max(this.#cpuAt, this.now);
    if (this.#copies)
      this.stream.pieceBytes = this.#board.gated
        ? this.#board.gate.rules.copyPieceBytes
        : Number.POSITIVE_INFINITY;
    if (this.#piece > 0) this.#cpuAt += this.#machine.gpu.launchNs;
    const upTo = how === "graph" ? length : this.#step + 1;
    for (let step = this.#step; step < upTo; step++) {
      if (this.#piece === 0) this.#cpuAt += cpuNs[step] ?? 0;
      this.stream.push(part ?? step, this.#cpuAt);
    }
    if (++this.#piece < pieces) return;
    this.#piece = 0;
    this.#step = upTo;
    if (this.#step < length) return;
    this.#step = 0;
    this.stream.push(END, this.#cpuAt);
    this.#inFlight = this.#waits;
  }
}
