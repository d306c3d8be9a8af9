import { describe, expect, test } from "vitest";
import { type EngineMemory, noEngine, pressures, withRequestsOf } from "./engine.ts";
import type { RequestLimits, RequestsSeen } from "./requests.ts";

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

describe("what requests take at most", () => {
  test("is known by a few requests, as a part of their limits", () => {
    const known = of(told(40, usual));
    expect(known.get("tpot")).toBeGreaterThan(0.5);
    expect(known.get("tpot")).toBeLessThan(0.56);
    expect(known.get("ttft")).toBeGreaterThan(0.23);
    expect(known.get("ttft")).toBeLessThan(0.5);
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

  test("is more than the limit allows while requests wait in a full engine", () => {
    const full = told(8, (i) => ({ ...usual(i), waiting: 6 }), 1, told(40, usual));
    expect(of(full).get("ttft")).toBeGreaterThan(1);
    const busy = told(20, (i) => ({ ...usual(i), waiting: 0 }), 1, full);
    expect(of(busy).get("ttft")).toBeLessThan(0.5);
  });

  test("is not more because one request waits at one look", () => {
    const one = told(1, (i) => ({ ...usual(i), waiting: 1 }), 1, told(40, usual));
    expect(of(one).get("ttft")).toBeLessThan(0.5);
  });
});

test("the first requests of an engine tell nothing: 10 s", () => {
  const cold = told(39, (i) => usual(i, 5), 1, noEngine);
  expect(of(cold).get("ttft")).toBeUndefined();
  const after = of(told(60, usual, 1, cold)).get("ttft");
  expect(after).toBeLessThan(1.5 * (of(told(60, usual)).get("ttft") ?? 0));
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
