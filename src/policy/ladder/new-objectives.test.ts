import { describe, expect, test } from "vitest";
import { type Service, Watched } from "../../../test/policy/plant.ts";
import { policyNamed } from "../policies/index.ts";
import type { Look } from "../policy.ts";

const bursts = [[2000, 25]] as const;
const wide: Service = { objective: { p99Us: 10_000 }, bursts };
const narrow: Service = { objective: { p99Us: 1000 }, bursts };

describe("a client whose objective changes", () => {
  test("is protected as under strict at once, and what was found of the former one does not count", () => {
    const watched = new Watched();
    watched.looks(240, [wide]);
    expect([watched.level, watched.state()]).toEqual([5, "met"]);
    watched.looks(1, [narrow]);
    expect([watched.level, watched.state()]).toEqual([0, "learning"]);
    watched.looks(40, [narrow]);
    expect([watched.level, watched.state()]).toEqual([0, "impossible"]);
  });

  test("climbs again at once under one that holds, whatever levels the former one broke", () => {
    const watched = new Watched();
    watched.looks(240, [narrow]);
    expect(watched.level).toBe(0);
    watched.looks(60, [wide]);
    expect(watched.level).toBe(5);
  });

  test("has none any more if that is what it states", () => {
    const watched = new Watched();
    watched.looks(240, [wide]);
    watched.looks(4, [{ objective: undefined, bursts }]);
    expect(watched.level).toBe(0);
  });

  test("is another one only if it states something else", () => {
    const watched = new Watched();
    watched.looks(240, [wide]);
    watched.looks(1, [{ objective: { p99Us: 10_000 }, bursts }]);
    expect([watched.level, watched.state()]).toEqual([5, "met"]);
  });
});

test("a share of the time beside an engine's requests ends with the objective that it was found for", () => {
  const policy = policyNamed("cotenant");
  const looks = (nowMs: number, tpot: number): Look => ({
    ...{ isolated: true, smCount: 132, nowMs, colocated: true },
    high: [
      {
        ...{ id: "llm", name: "llm" },
        ...{ burstP50Us: 30_000, burstP99Us: 31_000, ended: undefined, waited: undefined },
        objective: { p99Us: undefined, slowdown: undefined, requests: { tpot } },
        requests: { tpot: { values: 0, above: 0, near: 0 } },
      },
    ],
  });
  const first = policy.remember?.(looks(0, 50_000), undefined);
  if (!first) throw new Error("the policy remembers nothing");
  const sharing = { ...first, level: 24, share: 0.3 };
  expect(policy.remember?.(looks(250, 50_000), sharing).level).toBe(24);
  expect(policy.remember?.(looks(250, 20_000), sharing).level).toBe(0);
});
