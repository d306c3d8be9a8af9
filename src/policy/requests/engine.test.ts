import { describe, expect, test } from "vitest";
import { bucketCount, bucketOf } from "#protocol";
import { type EngineMemory, noEngine, pressures, withRequestsOf } from "./engine.ts";
import type { RequestLimits, RequestQuantile, RequestsSeen } from "./requests.ts";

const limits: RequestLimits = { ttft: 400_000, tpot: 60_000 };
const counts = (values: number, eachUs: number, above = 0) => ({
  ...{ values, above, near: above },
  sumUs: values * eachUs,
});

/** Tokens of 30 ms, and requests of 90 ms to the first one, a little different each time. */
const usual = (i: number, factor = 1): RequestsSeen => ({
  itl: counts(20, 30_000 * factor),
  tpot: counts(1, (30_000 + 300 * (i % 3)) * factor),
  ttft: counts(1, (80_000 + 10_000 * (i % 3)) * factor),
});

/** Its first requests were long ago. */
const warm: EngineMemory = { ...noEngine, pace: "itl", sinceMs: -1e6 };

function told(looks: number, of: (i: number) => RequestsSeen, stretch = 1, was = warm) {
  let engine: EngineMemory = was;
  for (let i = 0; i < looks; i++) {
    const nowMs = Math.max(0, engine.heardAtMs) + 250;
    engine = withRequestsOf(engine, limits, of(i), { nowMs, stretch });
  }
  return engine;
}

const of = (engine: EngineMemory) => new Map(pressures(engine, limits));

describe("what requests take by another quantile, or in the mean", () => {
  const quantiles = (which: RequestQuantile): RequestLimits => ({
    ...limits,
    quantiles: { ttft: which },
  });
  const ttft = (which: RequestQuantile, engine: EngineMemory) =>
    new Map(pressures(engine, quantiles(which))).get("ttft") ?? Number.NaN;
  /** One in ten waits for 300 ms. */
  const uneven = told(200, (i) => ({
    ...usual(i),
    ttft: counts(1, i % 10 === 0 ? 300_000 : 80_000),
  }));

  test("is less, the more of them may take longer", () => {
    expect(ttft("p50", uneven)).toBeCloseTo(80 / 400, 1);
    expect(ttft("mean", uneven)).toBeCloseTo(102 / 400, 1);
    expect(ttft("p95", uneven)).toBeCloseTo(300 / 400, 1);
    expect(ttft("p99", uneven)).toBeGreaterThan(ttft("p95", uneven));
  });

  test("is not taken for more after requests that were above the limit, as many may be", () => {
    let engine = told(40, usual);
    for (let i = 0; i < 8; i++) {
      const nowMs = engine.heardAtMs + 250;
      const seen = { itl: counts(20, 30_000), ttft: counts(1, 500_000, 1) };
      engine = withRequestsOf(engine, quantiles("p50"), seen, { nowMs, stretch: 1.2 });
    }
    expect(engine.caution.ttft).toBeUndefined();
  });
});

describe("what requests take at most", () => {
  test("is known by a few requests, as a part of their limits", () => {
    const known = of(told(40, usual));
    expect(known.get("tpot")).toBeGreaterThan(0.5);
    expect(known.get("tpot")).toBeLessThan(0.62);
    expect(known.get("ttft")).toBeGreaterThan(0.23);
    expect(known.get("ttft")).toBeLessThan(0.7);
  });

  test("is not known by fewer", () => {
    expect(of(told(3, usual)).get("ttft")).toBeUndefined();
  });

  test("is the same beside best-effort work that makes everything longer by a known factor", () => {
    const [alone, beside] = [1, 1.4].map((factor) => of(told(80, (i) => usual(i, factor), factor)));
    for (const kind of ["ttft", "tpot"] as const)
      expect(beside?.get(kind)).toBeCloseTo(alone?.get(kind) ?? 0, 2);
  });

  test("rises at once when tokens take twice as long", () => {
    const before = told(40, usual);
    const after = told(4, () => ({ itl: counts(20, 60_000) }), 1, before);
    expect(of(after).get("tpot")).toBeGreaterThan(1.3 * (of(before).get("tpot") ?? 0));
  });

  test("is taken for more after a request that was too late, and for less after a thousand near the limit that were not", () => {
    const before = told(40, usual);
    const late = told(1, () => ({ ttft: counts(1, 90_000, 1) }), 1.2, before);
    expect(late.caution.ttft).toBeCloseTo(1.1);
    const near = told(500, (i) => usual(i, 1.8), 1.8, before);
    expect(near.caution.tpot).toBeLessThan(1);
    expect(near.caution.tpot).toBeGreaterThanOrEqual(0.7);
  });

  test("is not taken for more after one late request of hundreds in ten seconds, but after two", () => {
    const many = { ...told(40, usual), told: { requests: 1500, tokens: 30_000, ms: 100_000 } };
    const late = () => ({ ttft: counts(1, 90_000, 1) });
    expect(told(1, late, 1.2, many).caution.ttft ?? 1).toBeLessThanOrEqual(1);
    expect(told(2, late, 1.2, many).caution.ttft).toBeCloseTo(1.1);
  });

  test("is more than the limit allows while requests wait in a full engine", () => {
    const full = told(8, (i) => ({ ...usual(i), waiting: 6 }), 1, told(40, usual));
    expect(of(full).get("ttft")).toBeGreaterThan(1);
    const busy = told(20, (i) => ({ ...usual(i), waiting: 0 }), 1, full);
    expect(of(busy).get("ttft")).toBeLessThan(0.65);
  });

  test("is not more because one request waits at one look", () => {
    const one = told(1, (i) => ({ ...usual(i), waiting: 1 }), 1, told(40, usual));
    expect(of(one).get("ttft")).toBeLessThan(0.65);
  });

  test("is not more because two wait at every other answer of an engine that is asked once a second", () => {
    let engine = told(40, usual);
    for (let second = 0; second < 20; second++) {
      engine = told(3, () => ({ itl: counts(20, 30_000) }), 1, engine);
      engine = told(1, (i) => ({ ...usual(i), waiting: second % 2 === 0 ? 2 : 0 }), 1, engine);
      expect(of(engine).get("ttft")).toBeLessThan(0.75);
    }
  });

  test("is more as soon as an engine tells of many, and of few when they are there at two answers", () => {
    const answer = (waiting: number, was: EngineMemory) =>
      told(
        1,
        (i) => ({ ...usual(i), waiting }),
        1,
        told(3, () => ({ itl: counts(20, 30_000) }), 1, was),
      );
    const before = answer(0, told(40, usual));
    expect(of(answer(12, before)).get("ttft")).toBeGreaterThan(1);
    const two = answer(2, before);
    expect(of(two).get("ttft")).toBeLessThan(0.75);
    expect(of(answer(2, two)).get("ttft")).toBeGreaterThan(1);
  });
});

test("the first requests of an engine count until others tell, and are then forgotten", () => {
  const cold = told(39, (i) => usual(i, 5), 1, noEngine);
  expect(of(cold).get("ttft")).toBeGreaterThan(1.5);
  const some = of(told(12, usual, 1, cold)).get("ttft");
  expect(some).toBeLessThan(1);
  // Those that began while the pace fell seem shorter than they were, so that values differ more for a while.
  const after = of(told(200, usual, 1, cold)).get("ttft");
  expect(after).toBeLessThan(1.1 * (of(told(200, usual)).get("ttft") ?? 0));
});

test("an engine that compiled for seconds is told by its latest requests, and by its pace as soon as that falls", () => {
  const compiles = told(24, (i) => usual(i, 5), 1, noEngine);
  const after = of(told(9, usual, 1, compiles));
  const always = of(told(33, usual, 1, noEngine));
  for (const kind of ["ttft", "tpot"] as const)
    expect(after.get(kind)).toBeLessThan(1.35 * (always.get(kind) ?? 0));
});

test("the pace that times per token are compared with is as old as the requests live", () => {
  /** After a second in which tokens take twice as long, where a request has so many of them, of 30 ms. */
  const paceUs = (tokens: number) => {
    const of = (factor: number) => (i: number) => ({
      ...usual(i),
      itl: counts(tokens, 30_000 * factor),
    });
    return told(4, of(2), 1, told(80, of(1))).aloneUs ?? Number.NaN;
  };
  expect(paceUs(20)).toBeGreaterThan(50_000);
  expect(paceUs(400)).toBeLessThan(38_000);
});

test("where more requests come, a smaller part of them may be late, so they are taken for longer", () => {
  const engine = told(80, usual);
  const at = (perS: number) =>
    of({ ...engine, told: { requests: 100 * perS, tokens: 2000 * perS, ms: 100_000 } });
  expect(at(20).get("ttft")).toBeGreaterThan(1.05 * (at(1).get("ttft") ?? 0));
});

test("what the first requests take is known at once if it is as later", () => {
  expect(of(told(20, usual, 1, noEngine)).get("ttft")).toBeLessThan(0.9);
});

describe("a first token is slowed by a share in the begin of long bursts only", () => {
  /** Prompts are read in bursts of 120 ms without best-effort work, which waits from 40 ms on. */
  const ended = (stretch: number) => {
    const counts = new Uint32Array(bucketCount);
    counts[bucketOf(1e6 * (120 + 40 * (1 - 1 / stretch)))] = 1;
    return counts;
  };
  const read = (looks: number, stretch: number) => {
    let engine = warm;
    for (let i = 0; i < looks; i++) {
      const nowMs = Math.max(0, engine.heardAtMs) + 250;
      const ttft = (90_000 + 30_000 * (i % 3)) * (1 + (stretch - 1) / 3) + 20_000 * (stretch - 1);
      const seen = { ...usual(i, stretch), ttft: counts(1, ttft) };
      engine = withRequestsOf(engine, limits, seen, {
        ...{ nowMs, stretch, ended: ended(stretch), reads: { fromUs: 40_000, besideUs: 40_000 } },
      });
    }
    return engine;
  };

  test("so steps may get longer by more than the room that first tokens have", () => {
    const engine = read(60, 1);
    expect(engine.reading.slowedUs / engine.reading.us).toBeCloseTo(1 / 3, 2);
    const whole = { ...engine, reading: noEngine.reading };
    const [part, all] = [engine, whole].map((one) => of(one).get("ttft") ?? Number.NaN);
    expect(1 / (part ?? 0) - 1).toBeGreaterThan(2 * (1 / (all ?? 0) - 1));
  });

  test("and what is seen beside best-effort work tells the same as without it", () => {
    const [alone = 0, beside = 0] = [1, 1.3].map(
      (stretch) => of(read(80, stretch)).get("ttft") ?? 0,
    );
    expect(beside / alone).toBeGreaterThan(0.9);
    expect(beside / alone).toBeLessThan(1.05);
  });

  test("and times per token less, as a request lives through such bursts, too", () => {
    /** Each with a step of 120 ms among 20 of 30 ms: a sixth of the time is in prompts, of which two thirds are not slowed. */
    const life = (stretch: number) => {
      let engine = warm;
      for (let i = 0; i < 80; i++) {
        const nowMs = Math.max(0, engine.heardAtMs) + 250;
        const all = ended(stretch);
        all[bucketOf(30e6 * stretch)] = 20;
        const slowed = 1 + (stretch - 1) * (640 / 720);
        engine = withRequestsOf(engine, limits, usual(i, slowed), {
          ...{ nowMs, stretch, ended: all, reads: { fromUs: 50_000, besideUs: 40_000 } },
        });
      }
      return of(engine).get("tpot") ?? Number.NaN;
    };
    const whole = of(told(80, usual)).get("tpot") ?? Number.NaN;
    expect((1 / life(1) - 1) / (1 / whole - 1)).toBeCloseTo(720 / 640, 2);
    expect(life(1.3) / life(1)).toBeCloseTo(1, 1);
  });

  test("but one that is late anyway leaves no room", () => {
    const late = told(60, (i) => usual(i, 5), 1);
    expect(of({ ...late, reading: read(60, 1).reading }).get("ttft")).toBeGreaterThan(1);
  });
});

test("without a time between tokens the time per token tells the pace, and then that between tokens does", () => {
  const slow = told(100, (i) => ({ ...usual(i), itl: counts(0, 0) }), 1, noEngine);
  expect(slow.pace).toBe("tpot");
  expect(of(slow).get("tpot")).toBeDefined();
  expect(told(1, usual, 1, slow).pace).toBe("itl");
});

test("a service that does not tell changes nothing", () => {
  const before = told(10, usual);
  expect(withRequestsOf(before, limits, undefined, { nowMs: 1e6, stretch: 1 })).toBe(before);
});
