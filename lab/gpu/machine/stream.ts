// One client's stream on the modelled GPU: its queue, in order, and the entry that runs. At most one entry of a stream
// is on the GPU at a time. The object is flat and reused: nothing is allocated for a kernel.
import { SM_RESOURCES } from "#profile";
import type { Plan } from "../model/plan.ts";
import { RESOURCES } from "./contention.ts";

/** Queue entries: a step of the plan (0 and up), or one of these. */
export const BORDER = -1;
export const MARK = -2;
/** A request or iteration ends here. */
export const END = -3;

export const IDLE = 0;
/** Waits for a time: the launch has not been made yet, or the GPU idles before a kernel. */
export const TIMED = 1;
/** Waits for SMs. */
export const WAITING = 2;
export const RUNNING = 3;
export const COPYING = 4;
/** Held at a preemption point by the client's pause flag. */
export const PARKED = 5;
/** Its context has been told to let others run first. */
export const FENCED = 6;
/** The GPU performs a preemption point or mark. */
export const MARKING = 7;

/** The client that fills the stream. */
export interface Owner {
  /** The GPU has come to a preemption point or mark. */
  onBorder(stream: Stream): void;
  /** Whether the stream may go past this preemption point. */
  mayPass(): boolean;
  /** A request or iteration has ended. */
  onEnd(stream: Stream): void;
  /** The queue has run below `stream.low`. */
  refill(stream: Stream): void;
  /** A kernel began on the GPU. */
  onKernel(stream: Stream, step: number): void;
}

/** Only kernels of one context may run at the same time; see contexts.ts. */
export interface Context {
  readonly id: number;
  /** The number of its streams that wait for SMs or run. */
  work: number;
  readonly streams: Stream[];
}

export class Stream {
  readonly id: number;
  readonly context: Context;
  readonly plan: Plan;
  readonly owner: Owner;
  /** A stream of larger priority gets SMs first. */
  readonly priority: number;
  /** The SMs that it may hold at once, by its thread percentage or green context. */
  readonly smLimit: number;
  /** The owner is asked for more when fewer entries than this are left. */
  low = 0;
  /** Each entry of a copy is one of several equal pieces of at most this size. */
  pieceBytes = Number.POSITIVE_INFINITY;

  state = IDLE;
  /** Kernels in the queue, the running one included. */
  kernels = 0;
  /** Kernels from this entry on wait for the next turn of the context. */
  fence = Number.POSITIVE_INFINITY;
  launched = 0;
  finished = 0;
  /** Solo time of the finished kernels, ns. */
  finishedNs = 0;
  /** Whether the idle time before the entry at the head has passed. */
  rested = false;
  /** Whether a kernel came before the entry at the head. Other kernels may take the SMs between the two. */
  yields = false;

  // The kernel at the head, while waiting or running. A unit is the blocks that one SM holds at once.
  /** The order in which it began to wait. Of streams of equal priority, the one that waited longest goes first. */
  order = 0;
  /** The order in which it got its first SMs. */
  began = 0;
  units = 0;
  /** Units that run. Their blocks are on as many SMs as there are blocks and may leave room on each. */
  sms = 0;
  perSm = 1;
  /** The part of an SM that one block takes, by resource: see the plan. */
  readonly blockParts = new Float64Array(SM_RESOURCES);
  /** Whether its blocks that end make room for a higher priority. */
  leaves = false;
  /** Whether all its SMs run their waves together. They do not after the kernel got or lost SMs. */
  aligned = true;
  /** Progress in waves. The kernel is done at `waves`. */
  progress = 0;
  waves = 0;
  /** The waves that it takes at least from the last change of its SMs on. */
  least = 0;
  /** Waves per ns. */
  rate = 0;
  /** Duration of one wave, undisturbed. */
  waveNs = 1;
  /** The mean units of a wave, alone on the whole GPU. The plan's `need` was measured with them. */
  soloUnits = 1;
  /** Crowding.time() of its first wave, alone on the whole GPU. */
  soloCrowding = 1;
  /** Crowding.mean() of its waves, alone on the whole GPU. */
  soloMean = 1;
  /** The SMs that were given up for it so far, while it waits for them. */
  gained = 0;
  slowdown = 1;
  readonly need = new Float64Array(RESOURCES);

  #codes = new Int32Array(64);
  #readyAt = new Float64Array(64);
  head = 0;
  tail = 0;

  constructor(
    id: number,
    context: Context,
    plan: Plan,
    owner: Owner,
    options: { priority: number; smLimit: number },
  ) {
    this.id = id;
    this.context = context;
    this.plan = plan;
    this.owner = owner;
    this.priority = options.priority;
    this.smLimit = options.smLimit;
  }

  get length(): number {
    return this.tail - this.head;
  }

  /** Indices are in range by construction, here and below. */
  get code(): number {
    return this.#codes[this.head & (this.#codes.length - 1)] as number;
  }

  get readyAt(): number {
    return this.#readyAt[this.head & (this.#codes.length - 1)] as number;
  }

  /** `readyAt`: when the CPU makes the call. */
  push(code: number, readyAt: number): void {
    if (this.tail - this.head === this.#codes.length) this.#grow();
    const at = this.tail++ & (this.#codes.length - 1);
    this.#codes[at] = code;
    this.#readyAt[at] = readyAt;
    if (code >= 0 && this.plan.kind[code] === 0) this.kernels++;
  }

  pop(): void {
    this.head++;
    this.rested = false;
  }

  /** As `finishedNs`, with the part of the running kernel that is done. Valid after the processors have settled. */
  get workedNs(): number {
    if (this.state !== RUNNING) return this.finishedNs;
    const { code, plan } = this;
    const left = Math.max(0, this.units - this.sms * this.progress) / (plan.units[code] ?? 1);
    return this.finishedNs + (1 - Math.min(1, left)) * (plan.durationNs[code] ?? 0);
  }

  /** Units whose blocks have not begun. */
  get pending(): number {
    const begun = this.aligned ? Math.floor(this.progress + 1e-9) + 1 : this.progress + 1;
    const left = this.units - this.sms * begun;
    return left > 1e-6 ? left : 0;
  }

  /**
   * Continues on so many SMs, with blocks out of step. The kernel takes at least as long as in step, because a
   * disturbance cannot make its blocks fit better than alone.
   */
  continueOn(sms: number): void {
    const least = Math.max(0, this.least - this.progress);
    this.units = Math.max(0, this.units - this.sms * this.progress);
    this.progress = 0;
    this.aligned = false;
    this.least = sms > this.sms ? Math.min(least, Math.ceil(this.units / sms - 1e-9)) : least;
    this.begin(sms);
  }

  /**
   * Begins or continues on so many SMs: sets the waves that remain. A kernel that lost all its SMs gets them back one
   * by one.
   */
  begin(sms: number): void {
    this.sms = sms;
    const waves = sms > 0 ? this.units / sms : 0;
    if (this.aligned) this.least = Math.ceil(waves - 1e-9);
    this.waves = sms > 0 ? Math.max(waves, this.least) : 0;
  }

  #grow(): void {
    const size = 2 * this.#codes.length;
    const codes = new Int32Array(size);
    const readyAt = new Float64Array(size);
    for (let i = this.head; i < this.tail; i++) {
      codes[i & (size - 1)] = this.#codes[i & (this.#codes.length - 1)] as number;
      readyAt[i & (size - 1)] = this.#readyAt[i & (this.#codes.length - 1)] as number;
    }
    this.#codes = codes;
    this.#readyAt = readyAt;
  }
}
