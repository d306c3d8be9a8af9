// A million damaged files: each is read or refused, never a crash or a hang, and what is read goes through every
// analysis and pass.
import { expect, test } from "vitest";
import {
  legality,
  type Module,
  PtxError,
  parse,
  preempt,
  print,
  slice,
  unifySync,
  verify,
} from "#ptx";
import { damage } from "./mutation.ts";

const RUNS = 1_000_000;
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test(`${RUNS} mutated inputs`, () => {
  const random = chance(SEED);
  let read = 0;
  let longest = 0;
  for (let i = 0; i < RUNS; i += 1) {
    const source = damage(random);
    const before = performance.now();
    try {
      if (survives(source)) read += 1;
    } catch (cause) {
      throw new Error(`input ${i} of seed ${SEED}: ${JSON.stringify(source)}`, { cause });
    }
    longest = Math.max(longest, performance.now() - before);
  }
  console.log(
    `${read} of ${RUNS} were read, the others refused; the longest took ${longest.toFixed(1)} ms`,
  );
  expect(read).toBeGreaterThan(RUNS / 100);
});

function survives(source: string): boolean {
  tryParse(source, "no kernel");
  const module = tryParse(source);
  if (module === undefined) return false;
  if (print(module) !== source) throw new Error("is not printed as it was read");
  verify(module);
  legality(module);
  parse(print(unifySync(preempt(slice(module)))));
  return true;
}

function tryParse(source: string, only?: string): Module | undefined {
  try {
    return parse(source, only);
  } catch (error) {
    if (error instanceof PtxError) return undefined;
    throw error;
  }
}

/** Numbers from 0 to below 1 that follow from the seed (xorshift32). */
function chance(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
