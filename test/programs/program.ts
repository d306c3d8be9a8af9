// A program as it is written down, line by line, for test/programs/main.cpp. Whatever is asked for, what is written is
// legal CUDA without races that ends: work is ordered by events where nothing else orders it, and what waits for the
// host is let go before the host waits for anything.
import { Accesses, Clock, type Point } from "./order.ts";

export interface Context {
  readonly index: number;
  readonly owner: number | undefined;
  alive: boolean;
}

export interface Stream {
  /** Its number in `Clock`s, and of its host functions' order. */
  readonly lane: number;
  /** As the text names it. */
  readonly handle: number;
  readonly context: Context;
  readonly owner: number;
  readonly legacy: boolean;
  readonly blocking: boolean;
  readonly clock: Clock;
  /** Words that it waits for, directly or not. */
  readonly gates: Set<number>;
  /** While it is captured: what is captured into. */
  capture: Capture | undefined;
  at: number;
  /** The last operation that the program sees by itself: a host function, or what writes memory of the host. */
  seen: number;
  /** Operations since the host last knew that it was empty. */
  queued: number;
  alive: boolean;
  /** Recorded behind its last operation, when it was destroyed. */
  last: Event | undefined;
}

export interface Event {
  readonly index: number;
  readonly context: Context;
  readonly clock: Clock;
  readonly gates: ReadonlySet<number>;
}

export interface Memory {
  readonly index: number;
  readonly bytes: number;
  readonly how: number;
  /** undefined: of the host. */
  readonly context: Context | undefined;
  readonly owner: number;
  alive: boolean;
}

/** A capture under way; its streams are virtual ones with clocks of their own. */
export interface Capture {
  readonly origin: Stream;
  readonly context: Context;
  readonly accesses: Accesses;
  readonly streams: Map<Stream, Stream>;
  readonly gates: Set<number>;
  us: number;
  nodes: number;
}

export const LIMITS = { lines: 900, lanes: 60, queued: 250, gpuUs: 25_000, words: 250 } as const;

/** The state of a thread. */
interface Host {
  readonly clock: Clock;
  readonly pending: Set<number>;
  context: Context | undefined;
}

export class Program {
  readonly lines: string[] = [];
  readonly threads: number;
  readonly hosts: readonly Host[];
  readonly contexts: Context[] = [];
  readonly streams: Stream[] = [];
  readonly memories: Memory[] = [];
  readonly accesses = new Accesses();
  /** GPU time asked for so far. */
  gpuUs = 0;
  shown = 0;
  #events = 0;
  #handles = 8;
  #lanes = 0;
  #words = 0;
  readonly #poked = new Set<number>();

  constructor(threads: number) {
    this.threads = threads;
    this.hosts = Array.from({ length: threads }, () => ({
      clock: new Clock(),
      pending: new Set<number>(),
      context: undefined,
    }));
    this.makeContext(0, undefined);
    this.barrier();
  }

  get full(): boolean {
    return this.lines.length > LIMITS.lines;
  }

  line(thread: number, operation: string, ...of: readonly number[]): void {
    this.lines.push([thread, operation, ...of].join(" "));
  }

  host(thread: number): Host {
    const host = this.hosts[thread];
    if (!host) throw new RangeError(`no thread ${thread}`);
    return host;
  }

  makeContext(thread: number, owner: number | undefined): Context {
    const context: Context = { index: this.contexts.length, owner, alive: true };
    this.contexts.push(context);
    this.letGo(thread);
    this.line(thread, "context", context.index, context.index === 0 ? 0 : 1);
    this.host(thread).context = context;
    const users = owner === undefined ? [...this.hosts.keys()] : [owner];
    for (const user of users)
      this.#addStream({
        handle: context.index,
        context,
        owner: user,
        legacy: true,
        blocking: true,
      });
    return context;
  }

  use(thread: number, context: Context): void {
    const host = this.host(thread);
    if (host.context !== context) this.line(thread, "use", context.index);
    host.context = context;
  }

  makeStream(thread: number, context: Context, blocking: boolean, first: boolean): void {
    if (this.#lanes >= LIMITS.lanes || this.#handles > 250) return;
    this.use(thread, context);
    const handle = this.#handles++;
    this.line(thread, "stream", handle, blocking ? 0 : 1, first ? 1 : 0);
    this.#addStream({ handle, context, owner: thread, legacy: false, blocking });
  }

  #addStream(of: Pick<Stream, "handle" | "context" | "owner" | "legacy" | "blocking">): Stream {
    const stream = this.virtualStream(of);
    this.streams.push(stream);
    return stream;
  }

  /** A stream, or what stands for one in a capture. */
  virtualStream(of: Pick<Stream, "handle" | "context" | "owner" | "legacy" | "blocking">): Stream {
    return {
      ...of,
      lane: ++this.#lanes,
      clock: new Clock(),
      gates: new Set(),
      capture: undefined,
      at: 0,
      seen: 0,
      queued: 0,
      alive: true,
      last: undefined,
    };
  }

  hasTimeFor(us: number): boolean {
    return this.gpuUs + us <= LIMITS.gpuUs;
  }

  get canShow(): boolean {
    return this.shown < 250;
  }

  get hasLanes(): boolean {
    return this.#lanes < LIMITS.lanes;
  }

  lane(): number {
    return ++this.#lanes;
  }

  makeEvent(thread: number, context: Context): number | undefined {
    if (this.#events >= 250) return undefined;
    this.use(thread, context);
    this.line(thread, "event", this.#events, 2);
    return this.#events++;
  }

  record(thread: number, stream: Stream): Event | undefined {
    const index = this.makeEvent(thread, stream.context);
    if (index === undefined) return undefined;
    this.line(thread, "record", index, stream.handle);
    const clock = stream.clock.copy();
    clock.reach({ lane: stream.lane, at: stream.at });
    return { index, context: stream.context, clock, gates: new Set(stream.gates) };
  }

  wait(thread: number, stream: Stream, event: Event): void {
    this.use(thread, stream.context);
    this.line(thread, "wait", event.index, stream.handle);
    stream.clock.learn(event.clock);
    for (const gate of event.gates) if (!this.#poked.has(gate)) stream.gates.add(gate);
  }

  streamOf(lane: number): Stream | undefined {
    return this.streams.find((stream) => stream.lane === lane);
  }

  /** Puts `stream` behind these points; false if it can't be. */
  #follow(
    thread: number,
    stream: Stream,
    points: readonly Point[],
    among: readonly Stream[],
  ): boolean {
    for (const point of points) {
      const known =
        point.lane === stream.lane ||
        stream.clock.knows(point) ||
        (!stream.capture && this.host(thread).clock.knows(point));
      if (known) continue;
      const before = among.find(({ lane }) => lane === point.lane);
      if (!stream.capture && before?.capture) return false; // what it captures is not what it did before
      const event = before?.alive ? this.record(thread, before) : before?.last;
      if (!event) return false;
      this.wait(thread, stream, event);
    }
    return true;
  }

  /** Orders `stream` behind who touched this memory, lets `write` write the line, and notes it. False: it may not. */
  enqueue(
    thread: number,
    stream: Stream,
    reads: readonly Memory[],
    writes: readonly Memory[],
    write: () => void,
  ): boolean {
    const capture = stream.capture;
    const accesses = capture?.accesses ?? this.accesses;
    const among = capture ? [...capture.streams.values()] : this.streams;
    const points = [
      ...reads.flatMap(({ index }) => accesses.before(index, false)),
      ...writes.flatMap(({ index }) => accesses.before(index, true)),
    ];
    if (!this.#follow(thread, stream, points, among)) return false;
    if (!capture && stream.queued >= LIMITS.queued) this.sync(thread, stream);
    this.use(thread, stream.context);
    write();
    stream.at++;
    stream.queued++;
    const point = { lane: stream.lane, at: stream.at };
    if (writes.some(({ context }) => !context)) stream.seen = stream.at;
    for (const { index } of reads) accesses.note(index, false, point);
    for (const { index } of writes) accesses.note(index, true, point);
    return true;
  }

  /** A word nobody waits for yet. */
  newWord(): number | undefined {
    return this.#words < LIMITS.words ? this.#words++ : undefined;
  }

  /** `stream` waits for the word until the thread lets it go. */
  gate(thread: number, stream: Stream, word: number): void {
    if (this.#poked.has(word)) return;
    stream.gates.add(word);
    this.host(thread).pending.add(word);
  }

  /** Sets a word, by the host unless `write` writes another line. */
  poke(thread: number, word: number, write = () => this.line(thread, "poke", word)): void {
    write();
    this.#poked.add(word);
    this.host(thread).pending.delete(word);
    for (const stream of this.streams) stream.gates.delete(word);
  }

  /** Before the host waits. */
  letGo(thread: number): void {
    for (const word of [...this.host(thread).pending]) this.poke(thread, word);
  }

  sync(thread: number, stream: Stream, operation = "sync"): void {
    this.letGo(thread);
    this.use(thread, stream.context);
    this.line(thread, operation, stream.handle);
    this.done(thread, stream);
  }

  /** The host knows that all of the stream's work is done. */
  done(thread: number, stream: Stream): void {
    const { clock } = this.host(thread);
    clock.learn(stream.clock);
    clock.reach({ lane: stream.lane, at: stream.at });
    stream.queued = 0;
  }

  syncEvent(thread: number, event: Event): void {
    this.letGo(thread);
    this.line(thread, "sync-event", event.index);
    this.host(thread).clock.learn(event.clock);
  }

  /** The host waits until nothing touches this memory, or until its last write. */
  syncMemory(thread: number, memory: Memory, writes: boolean): boolean {
    for (const point of this.accesses.before(memory.index, writes)) {
      if (this.host(thread).clock.knows(point)) continue;
      const stream = this.streamOf(point.lane);
      if (stream?.alive) this.sync(thread, stream);
      else if (stream?.last) this.syncEvent(thread, stream.last);
      else return false;
    }
    return true;
  }

  /** Everything of every thread is done, and all threads know it. */
  barrier(): void {
    for (const thread of this.hosts.keys()) {
      for (const stream of this.streams)
        if (stream.owner === thread && stream.alive && stream.at > 0 && !stream.capture)
          this.sync(thread, stream);
      for (const stream of this.streams)
        if (stream.owner === thread && !stream.alive && stream.last && stream.context.alive)
          if (!this.host(thread).clock.knows({ lane: stream.lane, at: stream.at }))
            this.syncEvent(thread, stream.last);
      this.letGo(thread);
    }
    this.line(0, "barrier");
    for (const { clock } of this.hosts) {
      for (const other of this.hosts) clock.learn(other.clock);
    }
  }
}
