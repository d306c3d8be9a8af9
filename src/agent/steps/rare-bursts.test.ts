import { describe, expect, test } from "vitest";
import { type Name, sequence, sequences } from "../../../test/agent/steps/sequences.ts";
import type { BurstRecord } from "./burst-ring.ts";
import { BurstsByLaunches } from "./rare-bursts.ts";

function rareOf(bursts: readonly BurstRecord[]) {
  const seen = new BurstsByLaunches();
  seen.add(bursts);
  return seen.rare;
}

const MS = 1e6;
/** One after the other: ms, and launches. */
const inTurn = (bursts: readonly (readonly [number, number])[]): readonly BurstRecord[] => {
  let now = 1e9;
  return bursts.map(([ms, launches]) => {
    const begin = now;
    now += ms * MS;
    return { begin, end: now, waited: 0, launches };
  });
};
const times = <T>(count: number, of: readonly T[]): readonly T[] =>
  Array.from({ length: count }, () => of).flat();

/** transformers' continuous batching on an H200 (bench/results/2026-11-29-h200-engine-bursts.json). */
const large = {
  token: [
    [0.03, 0],
    [1.6, 16],
    [0.03, 0],
    [32.4, 1],
  ],
  prompt: [
    [0.03, 0],
    [3.4, 32],
    [0.03, 0],
    [105.7, 1496],
  ],
  eager: [
    [0.03, 0],
    [4.6, 46],
    [0.03, 0],
    [76.8, 1656],
  ],
} as const;

describe("an engine that replays graphs for tokens", () => {
  const { token, prompt } = large;

  test("launches more for a prompt, which is known after three of them", () => {
    const prompts = (count: number) =>
      rareOf(inTurn([...times(200, token), ...times(count, prompt)]));
    expect(prompts(2)).toBeUndefined();
    const rare = prompts(3);
    expect(rare?.afterLaunches).toBeGreaterThan(50);
    expect(rare?.afterLaunches).toBeLessThan(500);
    // As part of the time in which all is launched, at most.
    expect(rare?.afterUs).toBeCloseTo((105_700 * (rare?.afterLaunches ?? 0)) / 1496, -2.5);
  });

  test("whatever part of its time goes to prompts, up to three quarters", () => {
    expect(rareOf(inTurn(times(30, [...times(100, token), ...prompt])))).toBeDefined();
    expect(rareOf(inTurn(times(30, [...token, ...prompt])))).toBeDefined();
  });

  test("beside best-effort work, where steps for tokens take as long as short prompts", () => {
    const beside = token.map(([ms, launches]) => [ms * 1.5, launches] as const);
    const short = prompt.map(([ms, launches]) => [ms * 0.4, launches] as const);
    expect(rareOf(inTurn([...times(200, beside), ...times(10, short)]))).toBeDefined();
  });

  test("whatever its start-up launched once", () => {
    const once = inTurn([20, 80, 250, 700, 3000].map((launches) => [50, launches] as const));
    const seen = new BurstsByLaunches();
    seen.add(once);
    for (let i = 0; i < 4; i++) seen.add(inTurn(times(300, [...times(20, token), ...prompt])));
    const rare = seen.rare;
    expect(rare).toEqual(rareOf(inTurn(times(300, [...times(20, token), ...prompt]))));
  });

  test("does so until it has launched alike for long", () => {
    const seen = new BurstsByLaunches();
    seen.add(inTurn(times(10, [...times(20, token), ...prompt])));
    expect(seen.rare).toBeDefined();
    for (let i = 0; i < 40; i++) seen.add(inTurn(times(2000, large.eager)));
    expect(seen.rare).toBeUndefined();
  });
});

test("an engine without graphs launches as much for tokens, so launches tell nothing", () => {
  expect(rareOf(inTurn(times(300, large.eager)))).toBeUndefined();
});

test.each<{ name: Name; rare: boolean }>([
  { name: "engine", rare: true },
  { name: "decode", rare: false },
  { name: "eager", rare: false },
  { name: "generate", rare: false },
  { name: "training", rare: false },
  { name: "one burst", rare: false },
  { name: "mostly short requests", rare: false },
])("$name has rare bursts: $rare", ({ name, rare }) => {
  expect(rareOf(sequence(2000, sequences[name])) !== undefined).toBe(rare);
});
