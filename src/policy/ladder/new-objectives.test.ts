import { describe, expect, test } from "vitest";
import { type Service, Watched } from "../../../test/policy/plant.ts";

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
