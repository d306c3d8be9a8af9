// Programs do this in bulk: more launches than a queue holds, waits for many streams at once, work that nobody waits for.
import type { Program, Stream } from "./program.ts";
import { isCapturing, kernel, LIMITS_OF_BULK, memoriesOf, pick, type Wish } from "./work.ts";

const { flood, full, streams: crowd } = LIMITS_OF_BULK;

export const freeStreams = (program: Program, thread: number): readonly Stream[] =>
  program.streams.filter(
    ({ owner, alive, legacy, capture }) => owner === thread && alive && !legacy && !capture,
  );

/** Launches until the driver's queue is full and a launch waits for room. */
export function launchTooMany(program: Program, wish: Wish): void {
  const { thread, a, b, c } = wish;
  const stream = pick(freeStreams(program, thread), a);
  const memory = stream && pick(memoriesOf(program, thread, stream), b + c);
  if (!stream || !memory || isCapturing(program, thread) || !program.hasTimeFor(flood)) return;
  // Whatever the stream waits for would never come: this thread would wait for room.
  program.letGo(thread);
  const { of } = kernel(memory, { ...wish, b: 0 });
  const put = program.enqueue(thread, stream, [], [memory], () =>
    program.line(thread, "launch", stream.handle, c % 7, flood, ...of),
  );
  if (!put) return;
  program.gpuUs += flood;
  program.sync(thread, stream);
}

/** Launches that the program itself keeps below a number. */
export function keepFull(program: Program, wish: Wish): void {
  const { thread, a, b, c } = wish;
  const stream = pick(freeStreams(program, thread), a);
  const memory = stream && pick(memoriesOf(program, thread, stream), b + c);
  if (!stream || !memory || isCapturing(program, thread) || !program.hasTimeFor(full)) return;
  program.letGo(thread);
  const { of } = kernel(memory, { ...wish, b: 0 });
  const put = program.enqueue(thread, stream, [], [memory], () =>
    program.line(thread, "keep-full", stream.handle, 0, full, ...of),
  );
  if (put) program.gpuUs += full;
}

/** More streams than a request usually has, each with work, all joined in one that is waited for. */
export function joinMany(program: Program, wish: Wish): void {
  const { thread, a, c } = wish;
  const first = pick(freeStreams(program, thread), a);
  if (!first || isCapturing(program, thread)) return;
  const { context } = first;
  const of = () => freeStreams(program, thread).filter((stream) => stream.context === context);
  for (let before = -1; of().length < crowd && of().length !== before; ) {
    before = of().length;
    program.makeStream(thread, context, c % 3 === 0, false);
  }
  const memory = pick(memoriesOf(program, thread, first), c);
  if (!memory || !program.hasTimeFor(crowd)) return;
  for (const stream of of()) {
    if (stream === first) continue;
    const { of: what, us } = kernel(memory, { ...wish, b: 0 });
    const put = program.enqueue(thread, stream, [], [memory], () =>
      program.line(thread, "launch", stream.handle, 0, 1, ...what),
    );
    if (put) program.gpuUs += us;
    const event = program.record(thread, stream);
    if (event) program.wait(thread, first, event);
  }
  program.sync(thread, first);
}

/** The NULL stream stands for all blocking ones: whoever waits for it has waited for them. */
export function waitForNull(program: Program, { thread, a, b }: Wish): void {
  const stream = pick(freeStreams(program, thread), a);
  const legacy = program.streams.find(
    (other) => other.legacy && other.owner === thread && other.context === stream?.context,
  );
  if (!legacy || isCapturing(program, thread)) return;
  program.sync(thread, legacy, b % 2 ? "poll" : "sync");
  for (const other of freeStreams(program, thread))
    if (other.blocking && other.context === legacy.context) program.done(thread, other);
}

/** As a program that prefetches and ends: nobody waits for it. */
export function leaveWork(program: Program, thread: number): void {
  for (const stream of freeStreams(program, thread)) {
    const memory = pick(memoriesOf(program, thread, stream), stream.lane);
    if (!memory || !stream.context.alive) continue;
    const { of } = kernel(memory, { kind: "", thread, a: 1, b: 4, c: 0 });
    program.enqueue(thread, stream, [], [memory], () =>
      program.line(thread, "launch", stream.handle, 0, 3, ...of),
    );
  }
}
