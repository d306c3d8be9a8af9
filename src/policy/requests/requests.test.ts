import { describe, expect, test } from "vitest";
import { type Service, Watched } from "../../../test/policy/plant.ts";
import {
  type RequestCounts,
  type RequestQuantile,
  type RequestSample,
  requestKinds,
  requestLimits,
  tightestKind,
  withRequests,
} from "./requests.ts";

const limits = requestLimits({ ttft: 200_000, tpot: 50_000 });
const bursts: Service["bursts"] = [[15_000, 12]];

const engine = (requests: RequestSample, objective: Service["objective"] = { requests: limits }) =>
  ({ objective, bursts, requests }) satisfies Service;

const tokens = (values: number, above = 0, near = above) => ({ values, above, near });
const relaxed = engine({ ttft: tokens(3), tpot: tokens(30) });

describe("an objective about requests", () => {
  test("is climbed for as long as none is near its limit, and met", () => {
    const watched = new Watched();
    expect(watched.until(5, [relaxed])).toBeLessThan(30);
    expect(watched.state()).toBe("met");
  });

  test("is climbed past the levels that make no request so late, since values are below three quarters of the limit", () => {
    const watched = new Watched();
    const before = watched.looks(60, [relaxed]);
    // Chunks of 2 ms before bursts of 15 ms are far from a third of it.
    expect(before.filter((level, i) => i > 0 && level !== before[i - 1])).toEqual([4, 5]);
  });

  test("one value in a hundred may come near the limit", () => {
    const watched = new Watched();
    const seldom = engine({ ttft: tokens(100, 0, 1), tpot: tokens(30) });
    expect(watched.until(4, [seldom])).toBeLessThan(30);
    const often = engine({ ttft: tokens(100, 0, 2), tpot: tokens(30) });
    const other = new Watched();
    other.looks(2, [often]);
    expect(other.level).toBe(0);
  });

  test.each(requestKinds.slice(0, 2))("needs evidence of each kind: not without %s", (kind) => {
    const watched = new Watched();
    watched.looks(200, [engine({ ...relaxed.requests, [kind]: tokens(0) })]);
    expect(watched.level).toBe(0);
    expect(watched.state()).toBe("learning");
  });

  test("stays where values come near the limit, though none is above", () => {
    const watched = new Watched();
    watched.until(4, [relaxed]);
    const near = engine({ ttft: tokens(3, 0, 1), tpot: tokens(30, 0, 3) });
    watched.looks(30, [near]);
    expect(watched.level).toBe(4);
  });

  test("is left at once for full protection when too many are above, and that level is banned", () => {
    const watched = new Watched();
    watched.until(5, [relaxed]);
    watched.looks(2, [engine({ ttft: tokens(3), tpot: tokens(30, 10) })]);
    expect(watched.level).toBe(0);
    expect(watched.state()).toBe("missed");
    const levels = watched.looks(200, [relaxed]);
    expect(Math.max(...levels)).toBe(4);
  });

  test("ignores requests that began under the level that was left", () => {
    const watched = new Watched();
    watched.until(5, [relaxed]);
    watched.looks(2, [engine({ ttft: tokens(3, 3), tpot: tokens(30) })]);
    expect(watched.level).toBe(0);
    // 2 s and three times the limit of 200 ms: what was begun at level 5 ends meanwhile.
    watched.looks(9, [engine({ ttft: tokens(3, 3), tpot: tokens(30, 30) })]);
    expect(watched.until(4, [relaxed])).toBeLessThan(20);
  });

  test("beside one about bursts: both must hold", () => {
    const both = { p99Us: 10_000, requests: limits };
    const slow = new Watched();
    slow.looks(60, [{ ...engine(relaxed.requests, both), bursts: [[20_000, 12]] }]);
    expect([slow.level, slow.state()]).not.toContain("met");
    expect(slow.level).toBe(0);
    const late = new Watched();
    const missed = engine({ ttft: tokens(3, 3), tpot: tokens(30) }, both);
    late.looks(60, [{ ...missed, bursts: [[2000, 12]] }]);
    expect([late.level, late.state()]).toEqual([0, "missed"]);
  });
});

describe("a service that does not tell how long its requests take", () => {
  test("is protected as under strict, from the moment at which it falls silent", () => {
    const watched = new Watched();
    watched.until(4, [relaxed]);
    watched.look([engine(undefined)]);
    expect([watched.level, watched.state()]).toEqual([0, "unheard"]);
    watched.looks(400, [engine(undefined)]);
    expect([watched.level, watched.state()]).toEqual([0, "unheard"]);
  });

  test("is learned about again when it tells", () => {
    const watched = new Watched();
    watched.looks(20, [engine(undefined)]);
    watched.look([relaxed]);
    expect(watched.state()).toBe("learning");
    watched.until(4, [relaxed]);
    expect([watched.level, watched.state()]).toEqual([4, "met"]);
  });

  test("has no pause made for it, which would tell nothing about requests", () => {
    const watched = new Watched();
    const missed = engine({ ttft: tokens(3, 3), tpot: tokens(30) });
    const pauses = Array.from({ length: 400 }, () => {
      watched.look([missed]);
      return watched.isPaused;
    });
    expect(pauses).not.toContain(true);
    expect(watched.state()).toBe("missed");
  });
});

describe("the tightest kind", () => {
  const of = (seen: RequestSample) => tightestKind(withRequests({}, limits, seen, 1e9));

  test("has the largest part above its limit, and among equals the largest part near it", () => {
    expect(of({ ttft: tokens(10, 1), tpot: tokens(1000, 5) })).toBe("ttft");
    expect(of({ ttft: tokens(10, 0, 2), tpot: tokens(1000, 0, 900) })).toBe("tpot");
  });

  test("is unknown before anything was measured; a kind without a limit does not count", () => {
    expect(of({ ttft: tokens(0) })).toBeUndefined();
    expect(of({ e2e: tokens(10, 10) })).toBeUndefined();
  });
});

describe("an objective about another quantile, or a mean", () => {
  const about = (quantile: RequestQuantile, ttft: RequestCounts) =>
    engine({ ttft }, { requests: { ttft: { kind: "ttft", quantile, limitUs: 200_000 } } });
  const ended = (service: Service) => {
    const watched = new Watched();
    watched.until(4, [about("p50", tokens(30))]);
    // The quantile is part of the objective: under another one the level is learned again.
    const levels = watched.looks(120, [service]);
    return { level: levels.at(-1) ?? 0, state: watched.state() };
  };

  test.each([
    { quantile: "p50", above: 12, level: 5, state: "met" },
    { quantile: "p50", above: 19, level: 0, state: "missed" },
    { quantile: "p90", above: 2, level: 5, state: "met" },
    { quantile: "p90", above: 6, level: 0, state: "missed" },
    { quantile: "p95", above: 1, level: 5, state: "met" },
    { quantile: "p95", above: 4, level: 0, state: "missed" },
    { quantile: "p99", above: 1, level: 0, state: "missed" },
  ] as const)(
    "$above of 30 above the limit of a $quantile: $state",
    ({ quantile, above, level, state }) => {
      expect(ended(about(quantile, tokens(30, above)))).toEqual({ level, state });
    },
  );

  const mean = (us: number) => about("mean", { ...tokens(30, 10), sumUs: 30 * us });

  test("a mean is met or missed by the sum, however many values are above", () => {
    expect(ended(mean(140_000))).toEqual({ level: 5, state: "met" });
    expect(ended(mean(210_000))).toEqual({ level: 0, state: "missed" });
  });

  test("a mean near its limit is met and allows no more", () => {
    const { level, state } = ended(mean(190_000));
    expect(state).toBe("met");
    expect(level).toBeLessThan(5);
  });

  test("without a sum nothing is known of a mean", () => {
    expect(ended(about("mean", tokens(30)))).toEqual({ level: 0, state: "learning" });
  });
});
