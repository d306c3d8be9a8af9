// Random programs: a list of wishes, each of which becomes lines where it can be had. Any part of such a list is a
// program as well, so one that fails shrinks to the few wishes that matter.
import fc from "fast-check";
import { cancelLaunches, cancelWait } from "./cancelled.ts";
import { joinMany, keepFull, launchTooMany, leaveWork, waitForNull } from "./crowds.ts";
import { Graphs } from "./graphs.ts";
import { Program } from "./program.ts";
import {
  copy,
  fill,
  fillOf,
  hostFunction,
  isCapturing,
  KINDS,
  launch,
  letGo,
  pick,
  refused,
  streamFor,
  type Wish,
  waitWord,
} from "./work.ts";

export interface Wishes {
  readonly threads: number;
  readonly wishes: readonly Wish[];
  /** Contexts take turns. */
  readonly isolated: boolean;
  /** It uses another file with the driver, after it has asked the system's for its version. */
  readonly copy: boolean;
  /** Work that best-effort programs may queue. */
  readonly aheadUs: number;
  /** It ends with work in its streams. */
  readonly leaves: boolean;
  /** Requests of the high client beside it. */
  readonly bursts: number;
  readonly burstUs: number;
  readonly gapUs: number;
}

/** Copies of the largest are cut into pieces. */
const BYTES = [4096, 65_536, 3 << 20, 266_240, 16_384, 3 << 20, 65_536, 3 << 20] as const;
const FIRST_HOST = 128;

function makeStream(program: Program, { thread, a, b, c }: Wish): void {
  const context = pick(usable(program, thread), c);
  if (context && streamsOf(program, thread).length < 12)
    program.makeStream(thread, context, a % 3 === 0, b % 4 === 0);
}

const streamsOf = (program: Program, thread: number) =>
  program.streams.filter(({ owner, alive, legacy }) => owner === thread && alive && !legacy);

const usable = (program: Program, thread: number) =>
  program.contexts.filter(({ alive, owner }) => alive && (owner === undefined || owner === thread));

/** With work in it, or idle. */
function endStream(program: Program, { thread, a, b, c }: Wish): void {
  const stream = pick(
    streamsOf(program, thread).filter(({ capture }) => !capture),
    a,
  );
  if (!stream) return;
  if (b % 3 === 0 && !isCapturing(program, thread)) program.sync(thread, stream);
  else {
    const last = program.record(thread, stream);
    if (!last) return;
    stream.last = last;
  }
  // The form of before CUDA 4 waits for the stream's work.
  const waits = c % 3 === 0 && !isCapturing(program, thread);
  if (waits) program.letGo(thread);
  program.use(thread, stream.context);
  program.line(thread, "end-stream", stream.handle, waits ? 1 : 0);
  stream.alive = false;
}

function allocate(program: Program, wish: Wish): void {
  const { thread, a, b, c } = wish;
  if (isCapturing(program, thread) || program.memories.length >= 100) return;
  const stream = streamFor(program, wish);
  if (!stream) return;
  const bytes = BYTES[b % BYTES.length] ?? 4096;
  const how = (a + c) % KINDS.host;
  const onHost = how >= KINDS.device;
  const context = onHost ? program.contexts[0] : stream.context;
  if (!context) return;
  if (how !== 1 && how !== 2) program.letGo(thread);
  program.use(thread, context);
  const index = program.memories.length + (onHost ? FIRST_HOST : 0);
  const memory = {
    index,
    bytes,
    how,
    context: onHost ? undefined : context,
    owner: thread,
    alive: true,
  };
  program.memories.push(memory);
  const write = () =>
    program.line(thread, "allocate", onHost ? 0 : stream.handle, index, how, bytes);
  if (onHost) write();
  else {
    program.enqueue(thread, stream, [], [memory], write);
    fillOf(program, thread, stream, memory, 0, 1 + (index % 7));
  }
}

function release(program: Program, wish: Wish): void {
  const { thread, a } = wish;
  if (isCapturing(program, thread)) return;
  const memory = pick(
    program.memories.filter(({ alive, owner }) => alive && owner === thread),
    a,
  );
  if (!memory) return;
  if (memory.how === 1 || memory.how === 2) {
    const stream = pick(
      program.streams.filter(
        ({ owner, alive, context }) => owner === thread && alive && context === memory.context,
      ),
      wish.b,
    );
    if (!stream) return;
    const put = program.enqueue(thread, stream, [], [memory], () =>
      program.line(thread, "release", stream.handle, memory.index),
    );
    if (put) memory.alive = false;
    return;
  }
  program.letGo(thread);
  if (!program.syncMemory(thread, memory, true)) return;
  const context = memory.context ?? program.contexts[0];
  if (context) program.use(thread, context);
  program.line(thread, "release", 0, memory.index);
  memory.alive = false;
}

function show(program: Program, { thread, a }: Wish): void {
  if (isCapturing(program, thread)) return;
  const memory = pick(
    program.memories.filter(({ alive, owner }) => alive && owner === thread),
    a,
  );
  if (memory) showOf(program, thread, memory.index);
}

function showOf(program: Program, thread: number, index: number): void {
  const memory = program.memories.find((each) => each.index === index);
  if (!memory || !program.canShow) return;
  program.letGo(thread);
  if (!program.syncMemory(thread, memory, false)) return;
  if (memory.context) program.use(thread, memory.context);
  program.line(thread, "show", memory.index, program.shown++);
}

function synchronise(program: Program, wish: Wish): void {
  const { thread, a, b, c } = wish;
  const stream = streamFor(program, { ...wish, b: 0 });
  if (!stream || stream.capture || isCapturing(program, thread)) return;
  switch (c % 6) {
    case 0:
      program.use(thread, stream.context);
      program.line(thread, "query", stream.handle);
      return;
    case 1:
      program.sync(thread, stream, "poll");
      return;
    case 2: {
      const event = program.record(thread, stream);
      if (event) program.syncEvent(thread, event);
      return;
    }
    case 3: {
      const other = pick(
        streamsOf(program, thread).filter(({ capture }) => !capture),
        a + b,
      );
      const event = other && other !== stream && program.record(thread, other);
      if (event) program.wait(thread, stream, event);
      return;
    }
    case 4:
      if (stream.context.owner === undefined && program.threads > 1) return;
      program.letGo(thread);
      program.use(thread, stream.context);
      program.line(thread, "sync-context");
      return;
    default:
      program.sync(thread, stream);
  }
}

function makeContext(program: Program, { thread }: Wish): void {
  if (program.contexts.length >= 8 || isCapturing(program, thread) || !program.hasLanes) return;
  program.makeContext(thread, thread);
}

/** Its work may still be running; whether that is done, or lost with the context, is nothing that the program sees. */
function endContext(program: Program, { thread, a, b }: Wish): void {
  const context = pick(
    program.contexts.filter(({ alive, owner }) => alive && owner === thread),
    a,
  );
  if (!context || isCapturing(program, thread)) return;
  for (const stream of program.streams) {
    if (stream.context !== context) continue;
    if (program.host(thread).clock.knows({ lane: stream.lane, at: stream.seen })) continue;
    if (stream.alive) program.sync(thread, stream);
    else if (stream.last) program.syncEvent(thread, stream.last);
  }
  program.letGo(thread);
  program.use(thread, context);
  program.line(thread, "end-context", context.index, 1 + (b % 2));
  context.alive = false;
  program.host(thread).context = undefined;
  for (const stream of program.streams) {
    if (stream.context !== context) continue;
    stream.alive = false;
    program.host(thread).clock.reach({ lane: stream.lane, at: stream.at });
  }
  for (const memory of program.memories) if (memory.context === context) memory.alive = false;
}

type Grant = (program: Program, wish: Wish, graphs: Graphs) => void;

/** How often each kind is wished for, and what comes of it. */
const KINDS_OF_WISH: Readonly<Record<string, readonly [weight: number, grant: Grant]>> = {
  launch: [12, launch],
  copy: [7, copy],
  fill: [3, fill],
  host: [3, (program, wish) => hostFunction(program, wish, false)],
  "host-waits": [2, (program, wish) => hostFunction(program, wish, true)],
  "wait-word": [3, waitWord],
  "let-go": [3, letGo],
  sleep: [2, (program, { thread, a }) => program.line(thread, "sleep", (a % 8) * 250)],
  stream: [5, makeStream],
  "end-stream": [2, endStream],
  allocate: [5, allocate],
  release: [2, release],
  show: [2, show],
  synchronise: [5, synchronise],
  capture: [3, (_, wish, graphs) => graphs.begin(wish)],
  fork: [2, (_, wish, graphs) => graphs.fork(wish)],
  "end-capture": [3, (_, wish, graphs) => graphs.end(wish)],
  build: [3, (_, wish, graphs) => graphs.build(wish)],
  "launch-graph": [6, (_, wish, graphs) => graphs.launch(wish)],
  update: [2, (_, wish, graphs) => graphs.update(wish)],
  "end-exec": [1, (_, wish, graphs) => graphs.endExec(wish)],
  context: [1, makeContext],
  "end-context": [1, endContext],
  refused: [1, refused],
  barrier: [1, barrier],
  flood: [1, launchTooMany],
  full: [1, keepFull],
  "cancel-launches": [2, cancelLaunches],
  "cancel-wait": [1, cancelWait],
  "ask-copy": [1, (program, { thread }) => program.line(thread, "ask-copy")],
  join: [1, joinMany],
  null: [2, waitForNull],
};

function barrier(program: Program): void {
  if (!program.hosts.some((_, thread) => isCapturing(program, thread))) program.barrier();
}

/** The lines of the program that wishes make; each thread has a stream and some memory from the start. */
export function written({ threads, wishes, leaves }: Wishes): readonly string[] {
  const program = new Program(threads);
  const graphs = new Graphs(program);
  for (let thread = 0; thread < threads; thread++) {
    const plain = { kind: "", thread, a: 1, b: 1, c: 0 };
    makeStream(program, plain);
    allocate(program, { ...plain, c: 7, b: 0 });
    allocate(program, { ...plain, c: 4 });
  }
  for (const wish of wishes) {
    if (program.full) break;
    KINDS_OF_WISH[wish.kind]?.[1](program, { ...wish, thread: wish.thread % threads }, graphs);
  }
  graphs.endAll();
  program.barrier();
  for (const { index, alive, owner } of program.memories) if (alive) showOf(program, owner, index);
  program.barrier();
  if (leaves) leaveWork(program, 0);
  return program.lines;
}

// Fewer wishes make a failure plain; other numbers in them would only make others of it.
const number = fc.noShrink(fc.nat(999));
const wish: fc.Arbitrary<Wish> = fc.record({
  kind: fc.noShrink(
    fc.oneof(
      ...Object.entries(KINDS_OF_WISH).map(([kind, [weight]]) => ({
        weight,
        arbitrary: fc.constant(kind),
      })),
    ),
  ),
  thread: fc.noShrink(fc.nat(2)),
  a: number,
  b: number,
  c: number,
});

export const anyProgram: fc.Arbitrary<Wishes> = fc.record({
  threads: fc.oneof(
    { weight: 3, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.constant(2) },
    { weight: 1, arbitrary: fc.constant(3) },
  ),
  wishes: fc.array(wish, { minLength: 1, maxLength: 60, size: "max" }),
  isolated: fc.boolean(),
  copy: fc.nat(7).map((one) => one === 0),
  aheadUs: fc.nat(3).map((one) => (one === 0 ? 500 : 10_000)),
  leaves: fc.boolean(),
  bursts: fc.nat(6),
  burstUs: fc.integer({ min: 50, max: 3000 }),
  gapUs: fc.integer({ min: 50, max: 3000 }),
});
