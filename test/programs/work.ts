// Work that programs put into streams, captured or not: kernels, copies, fills, host functions, words.
import { LIMITS, type Memory, type Program, type Stream } from "./program.ts";

/** The free choices of a wish; any numbers do. */
export interface Wish {
  readonly kind: string;
  readonly thread: number;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export const KERNELS = { fma: 0, fmaToo: 1, fill: 2, add: 3 } as const;
const DURATIONS_US = [1, 5, 20, 100, 400, 1500] as const;
/** As test/programs/memory.cpp numbers them. */
export const KINDS = { device: 5, host: 8 } as const;
/** Digests of more would take long. */
const SEEN_BYTES = 65_536;
/** Stands for no object, or no word to wait for: kObjects in world.h. */
export const NONE = 256;
/** Launches: more than the 1,020 that a queue holds. Streams: more than the interposer remembers of a join. */
export const LIMITS_OF_BULK = { flood: 1100, full: 1200, streams: 16 } as const;

export function pick<T>(from: readonly T[], by: number): T | undefined {
  return from.length ? from[by % from.length] : undefined;
}

/** A stream for a thread's next work: if it captures, mostly that one. */
export function streamFor(program: Program, { thread, a, b }: Wish): Stream | undefined {
  const own = program.streams.filter((stream) => stream.owner === thread && stream.alive);
  const captured = own.filter(({ capture }) => capture);
  if (captured.length && b % 8 !== 0) {
    const stream = pick(captured, a);
    return stream?.capture?.streams.get(stream);
  }
  const capturing = captured.length > 0;
  return pick(
    own.filter(({ capture, blocking }) => !capture && !(capturing && blocking)),
    a,
  );
}

export const isCapturing = (program: Program, thread: number): boolean =>
  program.streams.some(({ owner, capture }) => owner === thread && capture);

export function memoriesOf(program: Program, thread: number, stream: Stream): readonly Memory[] {
  return program.memories.filter(
    ({ alive, owner, context }) => alive && owner === thread && context === stream.context,
  );
}

export const hostMemories = (program: Program, thread: number): readonly Memory[] =>
  program.memories.filter(({ alive, owner, context }) => alive && owner === thread && !context);

/** CONTEXT KERNEL BUFFER WORDS VALUE US BLOCKS */
export function kernel(of: Memory, { a, b, c }: Wish): { of: number[]; us: number } {
  const which = (a + c) % 4;
  const us = DURATIONS_US[b % DURATIONS_US.length] ?? 1;
  const words = which === KERNELS.add ? 1 : Math.min(of.bytes / 4, 1024);
  const value = which < KERNELS.fill ? [3, 5, 2][c % 3] : (c % 50) + 1;
  const index = of.context?.index ?? 0;
  return { of: [index, which, of.index, words, value ?? 3, us, 1 + ((a * 7 + b) % 200)], us };
}

export function launch(program: Program, wish: Wish): void {
  const stream = streamFor(program, wish);
  const memory = stream && pick(memoriesOf(program, wish.thread, stream), wish.b + wish.c);
  if (!stream || !memory) return;
  const { of, us } = kernel(memory, wish);
  const left = LIMITS.gpuUs - program.gpuUs;
  const times = Math.min(1 + (wish.c % 4 === 0 ? wish.a % 40 : wish.a % 3), Math.floor(left / us));
  if (times < 1) return;
  const how = wish.c % 7;
  const operation = wish.a % 5 === 0 ? "launch-with-lock" : "launch";
  const put = program.enqueue(wish.thread, stream, [], [memory], () =>
    program.line(
      wish.thread,
      operation,
      stream.handle,
      stream.capture && how === 1 ? 2 : how,
      times,
      ...of,
    ),
  );
  if (!put) return;
  stream.queued += times - 1;
  program.gpuUs += us * times;
  if (stream.capture) {
    stream.capture.us += us * times;
    stream.capture.nodes += times;
  }
}

export function refused(program: Program, wish: Wish): void {
  const stream = streamFor(program, wish);
  if (!stream || stream.capture) return;
  program.use(wish.thread, stream.context);
  program.line(wish.thread, "refused", stream.handle, stream.context.index);
}

export function fill(program: Program, wish: Wish): void {
  const { thread, c } = wish;
  const how = c % 5;
  const waits = how === 4;
  if (waits && isCapturing(program, thread)) return;
  const chosen = streamFor(program, wish);
  const stream = waits && chosen ? legacyOf(program, thread, chosen) : chosen;
  const memory = stream && pick(memoriesOf(program, thread, stream), wish.b);
  if (!stream || !memory) return;
  if (waits) program.letGo(thread);
  fillOf(program, thread, stream, memory, how, (c % 50) + 1);
}

export function fillOf(
  program: Program,
  thread: number,
  stream: Stream,
  memory: Memory,
  how: number,
  value: number,
): void {
  program.enqueue(thread, stream, [], [memory], () =>
    program.line(thread, "memset", stream.handle, how, memory.index, memory.bytes, value),
  );
}

const legacyOf = (program: Program, thread: number, { context }: Stream): Stream | undefined =>
  program.streams.find(
    (stream) => stream.legacy && stream.owner === thread && stream.context === context,
  );

const pinned = ({ context, how }: Memory): boolean => context !== undefined || how !== 6;

/** HOW as test/programs/memory.cpp: 1, 3 and 6 wait. */
export function copy(program: Program, wish: Wish): void {
  const { thread, a, b, c } = wish;
  const how = c % 8;
  const waits = how === 1 || how === 3 || how === 6;
  const capturing = isCapturing(program, thread);
  if (waits && capturing) return;
  const chosen = streamFor(program, wish);
  const stream = waits && chosen ? legacyOf(program, thread, chosen) : chosen;
  if (!stream) return;
  const device = memoriesOf(program, thread, stream);
  const all = [...device, ...hostMemories(program, thread)];
  const largest = all.filter(({ bytes }) => all.every((other) => other.bytes <= bytes));
  const to = pick(c % 4 === 0 ? largest : all, b);
  const others = to?.context ? all : device;
  // As large as it: then large ones are copied whole.
  const alike = others.filter((memory) => memory !== to && memory.bytes === to?.bytes);
  const from = pick(c % 3 && alike.length ? alike : others, a + c);
  if (!to || !from || to === from) return;
  if (capturing && !(pinned(to) && pinned(from))) return;
  // A batch takes no pageable memory's place in the order for granted; neither a capture nor the legacy stream takes one.
  const noBatch = how === 5 && (capturing || stream.legacy || !pinned(to) || !pinned(from));
  if (waits || !pinned(to) || !pinned(from)) program.letGo(thread);
  const bytes = Math.min(to.bytes, from.bytes);
  const at = (of: Memory) => (of.bytes > bytes && a % 2 ? ((of.bytes - bytes) >> 4) << 3 : 0);
  const put = program.enqueue(thread, stream, [from], [to], () =>
    program.line(
      thread,
      "copy",
      stream.handle,
      noBatch ? 0 : how,
      to.index,
      at(to),
      from.index,
      at(from),
      bytes,
    ),
  );
  // A copy from pageable memory may return before earlier work of its stream has ended.
  if (put && waits && !(to.context && from.context) && pinned(from)) {
    const { clock } = program.host(thread);
    clock.learn(stream.clock);
    clock.reach({ lane: stream.lane, at: stream.at });
  }
}

const HOST_FUNCTIONS = ["callback", "host-with-lock", "host", "host"] as const;

/** A host function that notes that it was called and what it sees; `waits`: until the program lets it go. */
export function hostFunction(program: Program, wish: Wish, waits: boolean): void {
  const { thread, b, c } = wish;
  const stream = streamFor(program, wish);
  if (!stream) return;
  const seen = hostMemories(program, thread).filter(({ bytes }) => bytes <= SEEN_BYTES);
  const sees = b % 2 ? pick(seen, b) : undefined;
  const word = waits ? program.newWord() : undefined;
  const plain = stream.capture ? "host" : (HOST_FUNCTIONS[c % HOST_FUNCTIONS.length] ?? "host");
  // One that waits with the lock would keep a launching thread waiting.
  const operation = waits && plain === "host-with-lock" ? "host" : plain;
  const put = program.enqueue(thread, stream, sees ? [sees] : [], [], () =>
    program.line(
      thread,
      operation,
      stream.handle,
      stream.lane,
      c % 100,
      sees?.index ?? NONE,
      word ?? NONE,
    ),
  );
  if (put) stream.seen = stream.at;
  if (!put || word === undefined) return;
  if (stream.capture) stream.capture.gates.add(word);
  else program.gate(thread, stream, word);
}

export function waitWord(program: Program, wish: Wish): void {
  const stream = streamFor(program, wish);
  const word = stream && !stream.capture ? program.newWord() : undefined;
  if (!stream || word === undefined) return;
  program.enqueue(wish.thread, stream, [], [], () =>
    program.line(wish.thread, "wait-word", stream.handle, word, wish.c % 2),
  );
  program.gate(wish.thread, stream, word);
}

/** Sets a word that something waits for: by the host, or in a stream that itself waits for nothing. */
export function letGo(program: Program, { thread, a, b, c }: Wish): void {
  const word = pick([...program.host(thread).pending], a);
  if (word === undefined) return;
  // A stream that synchronises with others, or a host function before it, could wait for this very word.
  const free = program.streams.filter(
    (stream) =>
      stream.owner === thread &&
      stream.alive &&
      !stream.blocking &&
      !stream.capture &&
      stream.gates.size === 0,
  );
  // The legacy stream and the blocking ones wait for each other without a word.
  const implied = program.streams.some(({ blocking, gates }) => blocking && gates.size > 0);
  const stream = b % 2 && !implied ? pick(free, c) : undefined;
  const hostFunctions = program.lines.some(
    (line) => line.startsWith(`${thread} host`) || line.startsWith(`${thread} callback`),
  );
  if (!stream || hostFunctions) {
    program.poke(thread, word);
    return;
  }
  program.use(thread, stream.context);
  program.poke(thread, word, () => program.line(thread, "write-word", stream.handle, word));
  stream.at++;
}
