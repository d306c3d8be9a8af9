// Threads that the program cancels while they are in a call of the driver.
import { freeStreams } from "./crowds.ts";
import type { Program } from "./program.ts";
import { isCapturing, KERNELS, kernel, memoriesOf, pick, type Wish } from "./work.ts";

const LAUNCHES = 60;

/** How often it launches before it is cancelled differs, so each launch writes the same. */
export function cancelLaunches(program: Program, wish: Wish): void {
  const { thread, a, b, c } = wish;
  const stream = pick(freeStreams(program, thread), a);
  const memory = stream && pick(memoriesOf(program, thread, stream), b);
  if (!stream || !memory || isCapturing(program, thread)) return;
  const { of, us } = kernel(memory, { ...wish, a: KERNELS.fill, b: 2, c: 4 * c });
  const all = us * (LAUNCHES + 1);
  if (!program.hasTimeFor(all)) return;
  program.letGo(thread);
  const put = program.enqueue(thread, stream, [], [memory], () =>
    program.line(thread, "cancel-launches", stream.handle, LAUNCHES, (c % 10) * 100, ...of),
  );
  if (!put) return;
  stream.queued += LAUNCHES;
  program.gpuUs += all;
}

/** The thread waits for a stream, and what that waits for comes only then. */
export function cancelWait(program: Program, { thread, a, c }: Wish): void {
  const stream = pick(freeStreams(program, thread), a);
  if (!stream || isCapturing(program, thread)) return;
  program.letGo(thread);
  const word = program.newWord();
  if (word === undefined) return;
  program.enqueue(thread, stream, [], [], () =>
    program.line(thread, "wait-word", stream.handle, word, c % 2),
  );
  program.gate(thread, stream, word);
  program.poke(thread, word, () =>
    program.line(thread, "cancel-wait", stream.handle, word, (c % 10) * 50, stream.context.index),
  );
  program.done(thread, stream);
}
