import { describe, expect, test } from "vitest";
import { millis, mulberry32 } from "#core";
import { bucketCount, bucketOf } from "#protocol";
import type { Memory, MeteredHigh } from "../contract/policy.ts";
import { slo } from "../policies/slo.ts";
import { addLook, isTrial, judge, noPace, type Pace, restartPace } from "./throughput.ts";

/** Slowdown factor of a training at each level. */
const takes = [1.03, 1.03, 1.04, 1.05, 1.08, 1.4];

/**
 * The levels in force, look by look, four a second. 9,000 launches a second alone, up to a queue's length ahead
 * of the GPU, and a burst every 1.5 s.
 */
function levels(
  slowdown: number,
  seconds: number,
  alone = (_at: number) => 1,
  gpuShare?: number,
  colocated = (_at: number) => true,
): number[] {
  const random = mulberry32(1);
  let memory: Memory | undefined;
  const seen: number[] = [];
  let [done, launched] = [0, 0];
  for (let at = 0.25; at <= seconds; at += 0.25) {
    const paused = memory?.pausedUntilMs !== undefined;
    const shared = colocated(at) && !paused;
    const factor = (shared ? (takes[memory?.level ?? 0] ?? 1) : 1) / alone(at);
    done += 2250 / factor;
    const launches = factor > 1e6 ? 0 : Math.round(done + 1020 * random()) - launched;
    launched += launches;
    const ended = at % 1.5 === 0 ? new Uint32Array(bucketCount) : undefined;
    if (ended) ended[bucketOf(1.5e9)] = 1;
    const client: MeteredHigh = {
      id: "a",
      name: "high",
      burstP50Us: 1.5e6,
      training: true,
      gpuShare,
      objective: { p99Us: undefined, slowdown },
      ended,
      launches: Math.max(0, launches),
    };
    memory = slo.remember?.(
      {
        isolated: true,
        high: [client],
        nowMs: millis(at * 1000),
        colocated: colocated(at) && !paused,
      },
      memory,
    );
    seen.push(memory?.level ?? 0);
  }
  return seen;
}

const partAt = (level: number, seen: readonly number[]) =>
  seen.filter((one) => one === level).length / seen.length;

describe("a training's objective is about its throughput", () => {
  test.each([
    { slowdown: 0.11, level: 4 },
    { slowdown: 0.065, level: 3 },
    { slowdown: 0.5, level: 5 },
  ])("slowdown $slowdown: level $level within 50 s, and mostly there", ({ slowdown, level }) => {
    const seen = levels(slowdown, 1200);
    expect(seen.slice(0, 200)).toContain(level);
    expect(partAt(level, seen.slice(200))).toBeGreaterThan(0.75);
  });

  test("what it allows to be given at all is given within 16 s: the last level is tried first", () => {
    expect(levels(0.5, 60).indexOf(5) / 4).toBeLessThan(16);
    // Too high: half of it, then half of the rest, each in five seconds of launches.
    const tried = levels(0.11, 44).filter((level, i, all) => level !== all[i - 1]);
    expect(tried).toEqual([0, 5, 0, 2, 3, 4]);
  });

  test("a level that was too high is left for the one that held, in one step", () => {
    const seen = levels(0.11, 120);
    const again = seen.lastIndexOf(5) + 1;
    expect(seen.slice(again).filter((level, i, all) => level !== all[i - 1])).toEqual([0, 4]);
  });

  test("where contexts take turns nobody is let go who would take half of the GPU", () => {
    const seen = levels(0.11, 300, () => 1, 0.9);
    expect(seen).not.toContain(5);
    expect(partAt(4, seen.slice(200))).toBe(1);
  });

  test("where contexts take turns the last level is tried where half of the GPU may be what it allows", () => {
    expect(levels(0.5, 60, () => 1, 0.4)).toContain(5);
  });

  test("what nothing can give is missed, and fully protected", () => {
    const seen = levels(0.005, 120);
    expect(partAt(0, seen)).toBe(1);
  });

  test("a neighbour that comes back after minutes finds the level that held", () => {
    const seen = levels(0.5, 200, undefined, undefined, (at) => at < 40 || at > 150);
    expect(new Set(seen.slice(4 * 40))).toEqual(new Set([5]));
  });

  test("one that stands still changes nothing", () => {
    const seen = levels(0.1, 100, (at) => (at > 60 && at < 90 ? 1e-9 : 1));
    expect(new Set(seen.slice(241, 355)).size).toBe(1);
  });

  test("one that stops and goes on in the middle of a sample is not taken for slower", () => {
    // From 30 s on it works for 6 s of every 13, and 0.01 s of the sample in which it begins and of the one in which it stops.
    const part = (at: number) => {
      const look = Math.round(4 * (at - 30)) % 52;
      if (at <= 30 || (look > 0 && look < 24)) return 1;
      return look === 0 || look === 24 ? 0.04 : 1e-9;
    };
    const seen = levels(0.48, 300, part);
    expect(new Set(seen.slice(4 * 30))).toEqual(new Set([5]));
  });

  test("one that launches once a second, a graph an iteration, has what it has lost", () => {
    let memory: Memory | undefined;
    const seen: number[] = [];
    for (let [look, done, launched] = [1, 0, 0]; look < 400; look++) {
      const paused = memory?.pausedUntilMs !== undefined;
      done += 0.25 / (paused ? 1 : (takes[memory?.level ?? 0] ?? 1));
      const launches = Math.floor(done) - launched;
      launched += launches;
      const ended = launches > 0 ? new Uint32Array(bucketCount) : undefined;
      if (ended) ended[bucketOf(1e9)] = 1;
      const objective = { p99Us: undefined, slowdown: 0.2 };
      const client = {
        id: "a",
        name: "high",
        burstP50Us: 1e6,
        training: true,
        objective,
        ended,
        launches,
      };
      memory = slo.remember?.(
        { isolated: true, high: [client], nowMs: millis(look * 250), colocated: !paused },
        memory,
      );
      seen.push(memory?.level ?? 0);
    }
    // Level 5 takes 1.4 times as long.
    expect(seen.lastIndexOf(5)).toBeLessThan(seen.lastIndexOf(4));
    expect(seen.at(-1)).toBeLessThan(5);
  });
});

/** At work from before on, for so many looks of a quarter of a second. */
function pace(looks: number, launches: number): Pace {
  let now = noPace;
  for (let look = 0; look <= looks + 1; look++) now = addLook(now, { launches, seconds: 0.25 }, 0);
  return now;
}

describe("the pace of a training", () => {
  test("is told by five seconds, without the samples in which it began and may have ended", () => {
    expect(isTrial(pace(20, 100))).toBe(true);
    expect(isTrial(pace(19, 100))).toBe(false);
    expect(pace(20, 100).looks).toHaveLength(20);
  });

  test("goes on over two seconds without launches, which count, and not over more", () => {
    const still = (seconds: number) => {
      const was = addLook(pace(8, 100), { launches: 0, seconds }, seconds);
      return addLook(was, { launches: 100, seconds: 0.25 }, 0);
    };
    expect(still(2).looks.at(-1)).toEqual({ launches: 100, seconds: 2.25 });
    expect(still(2.01).looks).toEqual([]);
    expect(addLook(noPace, { launches: 0, seconds: 1 }, 1)).toEqual(noPace);
  });

  test("begun anew goes on from now where it is at work, and from nothing where it is not", () => {
    const now = addLook(restartPace(pace(8, 100)), { launches: 7, seconds: 0.25 }, 0);
    expect(now).toEqual({ looks: [], open: { launches: 7, seconds: 0.25 } });
    expect(addLook(now, { launches: 7, seconds: 0.25 }, 0).looks).toHaveLength(1);
    expect(restartPace(noPace)).toEqual(noPace);
  });

  test("holds a slowdown up to it, breaks it beyond two percent more, and says nothing between", () => {
    const share = (launches: number) => judge(pace(20, launches), pace(20, 1000), 0.1);
    expect([share(1000), share(910)].map(({ above }) => above)).toEqual([0, 0]);
    expect(share(910).bursts).toBe(300);
    expect(share(900).bursts).toBe(0);
    expect(share(885)).toMatchObject({ bursts: 300, above: 300 });
  });
});
