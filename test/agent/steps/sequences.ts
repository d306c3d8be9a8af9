// Sequences of bursts as programs make them, for the tests of steps: how long bursts are, how much they launch, and the time
// between them. Lengths vary by some percent, as measured ones do.

import type { BurstRecord } from "#agent";
import { type Random, sfc32 } from "#core";

/** us. */
interface Part {
  readonly length: number;
  readonly launches: number;
  /** Before it. */
  readonly gap: number;
}

const MS = 1000;

/** One after the other; whatever `next` says comes next. */
export function sequence(
  count: number,
  next: (random: Random, n: number) => readonly Part[],
  seed = 1,
): readonly BurstRecord[] {
  const random = sfc32(seed);
  const bursts: BurstRecord[] = [];
  let now = 1e9;
  for (let n = 0; bursts.length < count; n++)
    for (const { length, launches, gap } of next(random, n)) {
      const begin = now + gap * 1000 * (0.7 + 0.6 * random());
      const end = begin + length * 1000 * (0.96 + 0.08 * random());
      bursts.push({ begin, end, waited: 0.8 * (end - begin), launches });
      now = end;
    }
  return bursts;
}

const decode: readonly Part[] = [
  { length: 30, launches: 0, gap: 900 },
  { length: 22, launches: 0, gap: 60 },
  { length: 17 * MS, launches: 1, gap: 150 },
  { length: 36, launches: 9, gap: 40 },
];

/** A step of it reads a prompt, eagerly, and takes as long as the prompt is. */
const prefill = (random: Random): readonly Part[] =>
  decode.map((part) =>
    part.launches === 1
      ? { ...part, launches: 930, length: (30 + 200 * random() ** 2) * MS }
      : part,
  );

const exponential = (random: Random) => -Math.log(1 - random());

export const sequences = {
  /** A decode step of an engine: a token each. */
  decode: () => decode,
  /** One step in ten reads a prompt. Between requests it is idle at times. */
  engine: (random: Random) => {
    const idle = random() < 0.03 ? 40 * MS : 0;
    const [first, ...rest] = random() < 0.1 ? prefill(random) : decode;
    return [{ ...(first as Part), gap: 900 + idle }, ...rest];
  },
  /** A request that comes now and then: input copied in, kernels, and a result that is copied in the same burst. */
  eager: (random: Random) => [
    { length: 24, launches: 0, gap: 20 * MS * exponential(random) },
    { length: 6 * MS, launches: 161, gap: 90 },
  ],
  /** The result is copied out in a burst of its own. */
  "eager with a copy out": (random: Random) => [
    { length: 6 * MS, launches: 161, gap: 20 * MS * exponential(random) },
    { length: 24, launches: 0, gap: 90 },
  ],
  /** Two inputs, an iteration, and its loss. */
  training: () => [
    { length: 200, launches: 0, gap: 300 },
    { length: 40, launches: 0, gap: 20 },
    { length: 80 * MS, launches: 1400, gap: 50 },
    { length: 9, launches: 1, gap: 30 },
  ],
  /** An image: its text, thirty steps with a short burst of the scheduler each, and the decoder. */
  diffusion: () => [
    { length: 5 * MS, launches: 300, gap: 400 * MS },
    ...Array.from({ length: 30 }, () => [
      { length: 12, launches: 2, gap: 100 },
      { length: 31 * MS, launches: 1, gap: 200 },
    ]).flat(),
    { length: 55 * MS, launches: 180, gap: 300 },
  ],
  /** An eager diffusion loop that waits once an image: two inputs, and all its steps in one burst. */
  image: (random: Random) => [
    { length: 200, launches: 0, gap: 3000 * MS * exponential(random) },
    { length: 180, launches: 1, gap: 60 },
    { length: (560 + 300 * random()) * MS, launches: 21_000, gap: 90 },
  ],
  /** A request of generate(): tokens without a pause, each read by the CPU before the next. A copy often waits for a chunk concurrent with it. */
  generate: (random: Random, n: number) => [
    {
      length: random() < 0.3 ? 2100 : 110 + 120 * random(),
      launches: 0,
      gap: n % 32 === 0 ? 900 * MS : 120,
    },
    { length: (11 + 12 * random() ** 2) * MS, launches: 340, gap: 40 },
  ],
  /** A request is one burst. */
  "one burst": (random: Random) => [
    { length: 3 * MS, launches: 1, gap: 15 * MS * exponential(random) },
  ],
  "one burst back to back": () => [{ length: 3 * MS, launches: 1, gap: 50 }],
  "bursts of any length": (random: Random) => [
    { length: 10 * 1000 ** random(), launches: Math.floor(100 * random()), gap: 500 * random() },
  ],
  "bursts of exponential length": (random: Random) => [
    { length: 1 + 2000 * exponential(random), launches: 3, gap: 500 * exponential(random) },
  ],
  /** Two kinds of request, each one burst, at random. */
  "short and long requests": (random: Random) => [
    random() < 0.5
      ? { length: 60, launches: 4, gap: 800 * exponential(random) }
      : { length: 8 * MS, launches: 50, gap: 800 * exponential(random) },
  ],
  "mostly short requests": (random: Random) => [
    random() < 0.8
      ? { length: 60, launches: 4, gap: 800 * exponential(random) }
      : { length: 8 * MS, launches: 50, gap: 800 * exponential(random) },
  ],
  "mostly long requests": (random: Random) => [
    random() < 0.1
      ? { length: 60, launches: 4, gap: 800 * exponential(random) }
      : { length: 8 * MS, launches: 50, gap: 800 * exponential(random) },
  ],
  /** Long bursts back to back, and short ones of another thread between them, of which any number may come. */
  "other work beside": (random: Random) => [
    { length: 8 * MS, launches: 50, gap: 100 },
    ...Array.from({ length: poisson(random, 1) }, () => ({ length: 20, launches: 1, gap: 30 })),
  ],
} satisfies Readonly<Record<string, (random: Random, n: number) => readonly Part[]>>;

export type Name = keyof typeof sequences;

function poisson(random: Random, mean: number): number {
  let [n, left] = [0, random()];
  for (let term = Math.exp(-mean); left > term; term *= mean / ++n) left -= term;
  return n;
}
