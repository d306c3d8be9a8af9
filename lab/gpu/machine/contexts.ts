// Contexts that take turns, as on a GPU without MPS. One context at a time is on the SMs, for a time slice if others
// wait. The GPU leaves a context with nothing to run at once. It leaves a context with only a few queued kernels when
// they are done, because its front end has nothing more to fetch. It leaves any other context within a kernel when
// its slice ends.
import type { Slices } from "../model/presets.ts";
import type { Processors } from "./processors.ts";
import { type Context, FENCED, MARKING, RUNNING, type Stream, TIMED, WAITING } from "./stream.ts";

/** The part of the machine that contexts need. */
export interface Stage {
  now(): number;
  schedule(at: number, event: "slice" | "switched", context: number): void;
  advance(stream: Stream): void;
}

export class Contexts {
  readonly all: Context[] = [];
  /** False: side by side. */
  readonly exclusive: boolean;
  switches = 0;
  #active: Context | undefined;
  #switching = false;
  /** When the slices of the active context began. */
  #since = 0;
  /** Since when the active context has had nothing to run; NaN: it has something. */
  #stoodFrom = Number.NaN;
  #sliceEnd = Number.POSITIVE_INFINITY;
  readonly #slices: Slices;
  readonly #processors: Processors;
  readonly #stage: Stage;

  constructor(exclusive: boolean, slices: Slices, processors: Processors, stage: Stage) {
    this.exclusive = exclusive;
    this.#slices = slices;
    this.#processors = processors;
    this.#stage = stage;
  }

  add(): Context {
    const context: Context = { id: this.all.length, work: 0, streams: [] };
    this.all.push(context);
    return context;
  }

  /** Whether the kernels of the context may run now. */
  runs(context: Context): boolean {
    return !this.exclusive || (!this.#switching && context === this.#active);
  }

  /** Must be called after every change. */
  resolve(): void {
    if (!this.exclusive || this.#switching) return;
    const active = this.#active;
    if (!active || !busy(active)) {
      if (Number.isNaN(this.#stoodFrom)) this.#stoodFrom = this.#stage.now();
      this.#leave(active);
      return;
    }
    this.#renew();
    const next = this.#nextAfter(active);
    if (next && next !== active) this.#limit(active);
  }

  /** New work after an idle time begins a new slice. */
  #renew(): void {
    const now = this.#stage.now();
    if (now - this.#stoodFrom >= this.#slices.standNs) this.#since = now;
    this.#stoodFrom = Number.NaN;
  }

  sliceEnds(id: number): void {
    const active = this.#active;
    if (this.#switching || active?.id !== id || this.#stage.now() !== this.#sliceEnd) return;
    this.#sliceEnd = Number.POSITIVE_INFINITY;
    const next = this.#nextAfter(active);
    if (next && next !== active) this.#switch(next, this.#slices.preemptNs);
  }

  endSwitch(id: number): void {
    this.#switching = false;
    const context = this.all[id];
    if (context) this.#activate(context);
  }

  #leave(active: Context | undefined): void {
    const next = this.#nextAfter(active);
    if (!next) return;
    if (active && next !== active) this.#switch(next, this.#slices.switchNs);
    else this.#activate(next);
  }

  /** How long the active context may still run while others wait. */
  #limit(active: Context): void {
    const kernels = active.streams.reduce((sum, stream) => sum + stream.kernels, 0);
    if (kernels <= this.#slices.shallow)
      for (const stream of active.streams)
        if (stream.fence > stream.tail) stream.fence = stream.tail;
    if (this.#slices.sliceNs === Number.POSITIVE_INFINITY) return;
    const now = this.#stage.now();
    if (this.#sliceEnd >= now && this.#sliceEnd !== Number.POSITIVE_INFINITY) return;
    // Slices begin and end even if no other context waits.
    const passed = Math.floor((now - this.#since) / this.#slices.sliceNs);
    const end = this.#since + (passed + 1) * this.#slices.sliceNs;
    this.#sliceEnd = end > now ? end : now + this.#slices.sliceNs;
    this.#stage.schedule(this.#sliceEnd, "slice", active.id);
  }

  #switch(next: Context, costNs: number): void {
    const now = this.#stage.now();
    this.#processors.settle(now);
    this.#processors.clear();
    this.#switching = true;
    this.#sliceEnd = Number.POSITIVE_INFINITY;
    this.switches++;
    this.#stage.schedule(now + costNs, "switched", next.id);
  }

  #activate(context: Context): void {
    if (context !== this.#active) {
      this.#since = this.#stage.now();
      this.#stoodFrom = Number.NaN;
    }
    this.#active = context;
    this.#sliceEnd = Number.POSITIVE_INFINITY;
    this.#processors.settle(this.#stage.now());
    this.#processors.clear();
    for (const stream of context.streams) {
      stream.fence = Number.POSITIVE_INFINITY;
      if (stream.state === RUNNING) this.#processors.goOn(stream);
      else if (stream.state === WAITING) this.#processors.wait(stream);
      else if (stream.state === FENCED) this.#stage.advance(stream);
    }
  }

  /** The next context in order that has something to run. The active one is tried last. */
  #nextAfter(context: Context | undefined): Context | undefined {
    const from = context ? context.id + 1 : 0;
    for (let i = 0; i < this.all.length; i++) {
      const other = this.all[(from + i) % this.all.length];
      if (other && (other.work > 0 || other.streams.some(({ state }) => state === FENCED)))
        return other;
    }
    return undefined;
  }
}

/** The context has something to run, or the GPU is between two of its entries. */
const busy = (context: Context): boolean =>
  context.work > 0 ||
  context.streams.some(({ state, rested }) => state === MARKING || (state === TIMED && rested));
