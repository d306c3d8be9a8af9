import { describe, expect, test } from "vitest";
import {
  besideUntil,
  largestPressure,
  levelOf,
  nextShare,
  readsBeside,
  shares,
  stretchOf,
} from "./shares.ts";

const SECOND = 1;
/** The share after so many seconds. */
function reached(seconds: number, pressure: number, from = 0, isolated = true): number {
  let share = from;
  for (let i = 0; i < 4 * seconds; i++) share = nextShare(share, pressure, SECOND / 4, isolated);
  return share;
}

describe("a share", () => {
  test("makes requests as long as their limit allows, and not longer", () => {
    const share = reached(60, 0.7);
    // 12 % of the limit stay unused.
    expect(0.7 * stretchOf(share, true)).toBeGreaterThan(0.9);
    expect(0.7 * stretchOf(share, true)).toBeLessThan(0.91);
  });

  test("grows by 8 % of the engine's time a second at most, and falls at once", () => {
    expect(stretchOf(reached(5, 0.5), true)).toBeLessThan(1.08 ** 6);
    expect(nextShare(0.4, 1.2, SECOND / 4, true)).toBe(0);
    expect(nextShare(0.4, 0.8, SECOND / 4, true)).toBeLessThan(0.2);
  });

  test("is none where the engine alone needs all that its limit allows", () => {
    expect(reached(60, 0.97)).toBe(0);
    expect(reached(60, 1.3)).toBe(0);
  });

  test("stays while too little is known", () => {
    expect(nextShare(0.2, undefined, SECOND, true)).toBe(0.2);
  });

  test("costs more than its time only where contexts take turns", () => {
    expect(stretchOf(0.2, true)).toBeGreaterThan(stretchOf(0.2, false));
    expect(stretchOf(0, true)).toBe(1);
  });

  test("has a level, the last of which holds nothing", () => {
    expect(levelOf(0)).toBe(0);
    expect(shares.map(levelOf)).toEqual(shares.map((_, i) => i + 1));
    expect(levelOf(reached(60, 0.1))).toBe(shares.length + 1);
  });
});

test("the engine with the least room decides, and one of which too little is known leaves it open", () => {
  const [ttft, tpot] = [
    { kind: "ttft", pressure: 0.7 },
    { kind: "tpot", pressure: 0.8 },
  ] as const;
  expect(largestPressure([ttft, tpot])).toBe(0.8);
  expect(largestPressure([ttft, undefined])).toBeUndefined();
  expect(largestPressure([])).toBeUndefined();
});

test("a share ends with the age of the shortest usual step, and has no end while none is known", () => {
  const high = [45_000, 30_000].map((burstByTimeUs) => ({
    ...{ name: "engine", burstP50Us: 44 },
    burstByTimeUs,
  }));
  expect(besideUntil(high).besideUntilUs).toBe(34_500);
  expect(besideUntil([]).besideUntilUs).toBe(0);
  expect(besideUntil([...high, { name: "new", burstP50Us: undefined }]).besideUntilUs).toBe(0);
});

describe("beside a step with a prompt in it", () => {
  const engine = { name: "engine", burstP50Us: 44, burstByTimeUs: 30_000 };
  const graphs = (afterLaunches: number) => ({
    ...engine,
    rareBursts: { afterLaunches, afterUs: 25 * afterLaunches },
  });

  test("a share ends with the launches that tell, where those of all engines do", () => {
    const launches = (...high: Parameters<typeof besideUntil>[0]) =>
      besideUntil(high).besideUntilLaunches;
    expect(launches(graphs(100))).toBe(100);
    expect(launches(graphs(100), graphs(300))).toBe(300);
    expect(launches(graphs(100), engine)).toBe(0);
    expect(launches()).toBe(0);
  });

  test("best-effort work goes on until then, and no longer than beside others", () => {
    const [short, long] = [graphs(100), graphs(4000)];
    expect(readsBeside(engine, [engine])).toEqual({ fromUs: 34_500, besideUs: 34_500 });
    expect(readsBeside(short, [short])).toEqual({ fromUs: 34_500, besideUs: 2500 });
    expect(readsBeside(long, [long])).toEqual({ fromUs: 34_500, besideUs: 34_500 });
    expect(readsBeside(short, [short, engine]).besideUs).toBe(34_500);
    expect(readsBeside(short, [short, graphs(200)]).besideUs).toBe(5000);
  });
});
