// The modelled GPU in virtual time (ns): ordered streams, SMs, contexts, the link and the clock. It knows neither
// clients nor rules. A client owns streams, and is an actor that the machine calls.
import { mulberry32, normals, type Random } from "#core";
import { SM_RESOURCES } from "#profile";
import { KERNEL, type Plan, piecesOf } from "../model/plan.ts";
import type { GpuModel } from "../model/presets.ts";
import { Calendar } from "./calendar.ts";
import { SmClock } from "./clock.ts";
import { Contexts } from "./contexts.ts";
import { Crowding } from "./crowding.ts";
import { Link } from "./link.ts";
import { Processors } from "./processors.ts";
import {
  BORDER,
  COPYING,
  type Context,
  END,
  FENCED,
  IDLE,
  MARKING,
  type Owner,
  PARKED,
  Stream,
  TIMED,
  WAITING,
} from "./stream.ts";

const WAKE = 0;
const MARKED = 1;
const RESUMED = 2;
const LINK = 3;
const SLICE = 4;
const SWITCHED = 5;
const CLOCK = 6;
/** The smallest kind of an actor's events. */
const ACTOR = 16;

const CLOCK_TICK_NS = 5e6;

/** Something that is called at a given time. */
export interface Actor {
  wake(what: number): void;
}

export interface MachineOptions {
  /** Only one context at a time is on the SMs. */
  readonly exclusive: boolean;
  /** Idle time before each kernel in addition to the plan's; default 0. */
  readonly pauseNs?: number;
  readonly seed: number;
  /** False: kernels take exactly their p50. */
  readonly spread: boolean;
}

export class Machine {
  readonly gpu: GpuModel;
  readonly processors: Processors;
  readonly contexts: Contexts;
  readonly link: Link;
  readonly clock: SmClock | undefined;
  readonly streams: Stream[] = [];
  now = 0;
  /** Events that were handled, including finished kernels. */
  events = 0;
  readonly #calendar = new Calendar();
  readonly #actors: Actor[] = [];
  readonly #normal: Random;
  readonly #spread: boolean;
  readonly #pauseNs: number;
  readonly #crowding: Crowding;
  #dirty = false;
  #orders = 0;
  #drawnNs = 0;
  #dramNs = 0;

  constructor(gpu: GpuModel, options: MachineOptions) {
    this.gpu = gpu;
    this.clock = gpu.power && new SmClock(gpu.power);
    const capacity = [1, gpu.dramReachable, 1] as const;
    const { sms } = gpu.description;
    this.#crowding = new Crowding(sms, gpu.dramReachable, gpu.smOversupply);
    this.processors = new Processors(sms, capacity, this.#crowding, this.clock?.mhz);
    this.contexts = new Contexts(options.exclusive, gpu.slices, this.processors, {
      now: () => this.now,
      schedule: (at, event, context) =>
        this.#calendar.add(at, event === "slice" ? SLICE : SWITCHED, context),
      advance: (stream) => this.#advance(stream),
    });
    this.link = new Link(gpu.link, this.#calendar, LINK);
    this.#normal = normals(mulberry32(options.seed));
    this.#spread = options.spread;
    this.#pauseNs = options.pauseNs ?? 0;
    if (this.clock) this.#calendar.add(CLOCK_TICK_NS, CLOCK, 0);
  }

  addStream(
    context: Context,
    plan: Plan,
    owner: Owner,
    options: { priority: number; smLimit?: number },
  ): Stream {
    const { priority, smLimit = this.gpu.description.sms } = options;
    const stream = new Stream(this.streams.length, context, plan, owner, {
      priority,
      smLimit: Math.max(1, Math.min(smLimit, this.gpu.description.sms)),
    });
    this.streams.push(stream);
    context.streams.push(stream);
    return stream;
  }

  addActor(actor: Actor): number {
    return this.#actors.push(actor) - 1;
  }

  /** Calls the actor at that moment. */
  at(time: number, actor: number, what: number): void {
    this.#calendar.add(time, ACTOR + what, actor);
  }

  /** Must be called after a push. */
  kick(stream: Stream): void {
    if (stream.state === IDLE && stream.length > 0) this.#advance(stream);
  }

  /** Must be called after a pause flag was cleared. */
  open(stream: Stream): void {
    if (stream.state === PARKED)
      this.#calendar.add(this.now + this.gpu.border.resumeNs, RESUMED, stream.id);
  }

  run(until: number): void {
    const { processors } = this;
    const calendar = this.#calendar;
    this.#resolve();
    for (;;) {
      const own = processors.nextAt;
      const other = calendar.next;
      if (Math.min(own, other) > until) break;
      this.events++;
      if (own <= other) {
        this.now = own;
        processors.settle(own);
        const done = processors.happen();
        this.#dirty = true;
        if (done) this.#finish(done);
      } else {
        calendar.take();
        this.now = calendar.time;
        this.#handle(calendar.kind, calendar.who);
      }
      if (this.#dirty) this.#resolve();
    }
    this.now = until;
    processors.settle(until);
  }

  #resolve(): void {
    this.#dirty = false;
    this.processors.settle(this.now);
    this.contexts.resolve();
    this.processors.resolve(this.now);
  }

  #handle(kind: number, who: number): void {
    if (kind >= ACTOR) {
      this.#actors[who]?.wake(kind - ACTOR);
      return;
    }
    const stream = this.streams[who];
    if (kind === WAKE) {
      if (stream?.state === TIMED) this.#advance(stream);
    } else if (kind === MARKED) {
      if (stream) this.#passMark(stream);
    } else if (kind === RESUMED) {
      if (stream?.state === PARKED && stream.owner.mayPass()) this.#next(stream);
    } else if (kind === LINK) {
      const copied = this.link.over(who, this.now);
      if (copied) this.#next(copied);
    } else if (kind === SLICE) {
      this.contexts.sliceEnds(who);
      this.#dirty = true;
    } else if (kind === SWITCHED) {
      this.contexts.endSwitch(who);
      this.#dirty = true;
    } else this.#tickClock();
  }

  #finish(stream: Stream): void {
    stream.finished++;
    stream.finishedNs += stream.plan.durationNs[stream.code] as number;
    stream.kernels--;
    stream.context.work--;
    stream.yields = true;
    this.#next(stream);
  }

  #passMark(stream: Stream): void {
    const border = stream.code === BORDER;
    stream.owner.onBorder(stream);
    if (border && !stream.owner.mayPass()) {
      stream.state = PARKED;
      this.#dirty = true;
    } else this.#next(stream);
  }

  #next(stream: Stream): void {
    if (stream.code < 0) stream.yields = false;
    stream.pop();
    this.#advance(stream);
  }

  /** Continues with the entry at the head until one takes time or none is left. */
  #advance(stream: Stream): void {
    for (;;) {
      stream.state = MARKING; // busy, so that a push meanwhile needs no kick
      if (stream.length < stream.low) stream.owner.refill(stream);
      if (stream.length === 0) {
        stream.state = IDLE;
        this.#dirty = true;
        return;
      }
      const ready = stream.readyAt;
      const { code } = stream;
      if (ready > this.now) this.#sleep(stream, ready);
      else if (code >= 0) this.#take(stream, code);
      else if (code === END) {
        stream.pop();
        stream.yields = false;
        stream.owner.onEnd(stream);
        continue;
      } else {
        const { borderNs, markNs } = this.gpu.border;
        this.#calendar.add(this.now + (code === BORDER ? borderNs : markNs), MARKED, stream.id);
      }
      return;
    }
  }

  #sleep(stream: Stream, until: number): void {
    stream.state = TIMED;
    if (!stream.rested) this.#dirty = true;
    this.#calendar.add(until, WAKE, stream.id);
  }

  #take(stream: Stream, step: number): void {
    const { plan } = stream;
    const bubble = plan.bubbleNs[step] as number;
    if (!stream.rested && (bubble > 0 || this.#pauseNs > 0 || stream.yields)) {
      stream.rested = true;
      stream.yields &&= bubble < this.gpu.handoverNs && this.processors.shared;
      const pause = (stream.yields ? this.gpu.handoverNs : bubble) + this.#pauseNs;
      if (pause > 0) {
        this.#sleep(stream, this.now + pause);
        return;
      }
    }
    if (plan.kind[step] !== KERNEL) {
      stream.state = COPYING;
      const { link } = this;
      const bytes = plan.bytes[step] as number;
      const piece = bytes / piecesOf(bytes, stream.pieceBytes);
      link.begin(stream, plan.kind[step] as number, piece, this.now);
    } else if (stream.head >= stream.fence) {
      stream.state = FENCED;
      this.#dirty = true;
    } else this.#await(stream, step);
  }

  /** The kernel at the head asks for SMs. */
  #await(stream: Stream, step: number): void {
    const { plan } = stream;
    const units = plan.units[step] as number;
    const { total } = this.processors;
    const waves = Math.ceil(units / total);
    let duration = plan.durationNs[step] as number;
    const spread = plan.spread[step] as number;
    if (this.#spread && spread > 0)
      duration *= Math.exp(spread * this.#normal() - (spread * spread) / 2);
    // The times of a profile include the pause.
    if (stream.yields) duration = Math.max(duration / 2, duration - this.gpu.handoverNs);
    stream.units = units;
    stream.perSm = plan.perSm[step] as number;
    for (let r = 0; r < SM_RESOURCES; r++)
      stream.blockParts[r] = plan.blockParts[step * SM_RESOURCES + r] as number;
    stream.soloUnits = units / waves;
    const crowding = this.#crowding;
    stream.soloCrowding = crowding.time(plan, step, Math.min(units, total), total);
    stream.soloMean = crowding.mean(plan, step, units, total, total);
    stream.waveNs = duration / waves / stream.soloMean;
    stream.aligned = true;
    stream.sms = 0;
    stream.progress = 0;
    stream.gained = 0;
    stream.order = ++this.#orders;
    stream.state = WAITING;
    stream.context.work++;
    stream.launched++;
    stream.owner.onKernel(stream, step);
    if (this.contexts.runs(stream.context)) this.processors.wait(stream);
    this.#dirty = true;
  }

  #tickClock(): void {
    const { clock, processors } = this;
    if (!clock) return;
    processors.settle(this.now);
    const compute = (processors.drawnNs - this.#drawnNs) / CLOCK_TICK_NS;
    const dram = (processors.dramNs - this.#dramNs) / CLOCK_TICK_NS;
    this.#drawnNs = processors.drawnNs;
    this.#dramNs = processors.dramNs;
    clock.tick(compute, dram, CLOCK_TICK_NS);
    processors.clockMHz = clock.mhz;
    this.#dirty = true;
    this.#calendar.add(this.now + CLOCK_TICK_NS, CLOCK, 0);
  }
}
