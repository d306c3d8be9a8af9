import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dailyForecast } from "./forecast.ts";
import { type Candidate, match, type Seat } from "./match.ts";
import { UNMATCHED } from "./paths.ts";
import { complementShare, shareOut } from "./share.ts";

const seat = (name: string, more: Partial<Seat> = {}): Seat => ({
  name,
  kind: name,
  freeMemoryGB: 16,
  healthy: true,
  ...more,
});
const job = (name: string, more: Partial<Candidate> = {}): Candidate => ({
  name,
  kind: name,
  memoryGB: 8,
  priority: 0,
  ...more,
});

describe("matching a cluster", () => {
  test("memory and health are constraints, whatever the weight", () => {
    const seats = [
      seat("small", { freeMemoryGB: 4 }),
      seat("ill", { healthy: false }),
      seat("fine"),
    ];
    const better = (one: Seat) => (one.name === "fine" ? 0.1 : 1);
    expect([...match(seats, [job("a"), job("b")], better)]).toEqual([2, UNMATCHED]);
  });

  test("a higher priority goes first, however little it gains", () => {
    const jobs = [job("low"), job("urgent", { priority: 1 })];
    const weigh = (_: Seat, one: Candidate) => (one.name === "low" ? 1 : 0.01);
    expect([...match([seat("only")], jobs, weigh)]).toEqual([UNMATCHED, 0]);
  });

  test("a job that stays in its kind of seat keeps its seat", () => {
    const seats = ["a", "b", "c", "d"].map((name) => seat(name, { kind: "same" }));
    const jobs = [job("new"), job("old", { home: 2 }), job("older", { home: 0 })];
    const seatOf = match(seats, jobs, (_seat, _job, stays) => (stays ? 1.1 : 1));
    expect([...seatOf].slice(1)).toEqual([2, 0]);
    expect([1, 3]).toContain(seatOf[0]);
  });

  test("matching one by one weighs the same as matching by kinds", () => {
    const seats = Array.from({ length: 400 }, (_, i) => seat(`s${i}`));
    const jobs = Array.from({ length: 300 }, (_, i) => job(`j${i}`));
    const weigh = (a: Seat, b: Candidate) =>
      ((Number(a.name.slice(1)) % 4) + 1) * ((Number(b.name.slice(1)) % 3) + 1);
    const sum = (seatOf: Int32Array, all: readonly Seat[]) =>
      seatOf.reduce((total, s, j) => total + weigh(all[s] as Seat, jobs[j] as Candidate), 0);
    const kinds = seats.map((one, i) => ({ ...one, kind: `k${i % 4}` }));
    expect(sum(match(seats, jobs, weigh), seats)).toBe(sum(match(kinds, jobs, weigh), kinds));
  });

  test.each([
    [
      "a weight that is no number",
      () => match([seat("g")], [job("j")], () => Number.NaN),
      /j beside g is NaN/,
    ],
    ["no GPU at all", () => match([], [job("j")], () => 1), /the list of GPUs is empty/],
    [
      "more levels of priority than doubles hold",
      () => {
        const many = Array.from({ length: 40 }, (_, i) => job(`j${i}`, { priority: i }));
        return match(
          Array.from({ length: 40 }, (_, i) => seat(`s${i}`)),
          many,
          () => 1,
        );
      },
      /40 levels of priority among 40 jobs/,
    ],
  ])("%s is reported", (_, run, message) => {
    expect(run).toThrow(message);
  });

  test("without candidates nothing is placed", () => {
    expect([...match([seat("g")], [], () => 1)]).toEqual([]);
  });
});

describe("shares of the SMs", () => {
  test.each([
    [0.2, 0.8],
    [0.75, 0.2],
    [1, 0.1],
    [0, 1],
  ])("beside an activity of %d it is %d", (activity, share) => {
    expect(complementShare(activity)).toBeCloseTo(share);
  });

  test("several jobs together get at most the cap, and no job more than it wants", () => {
    const wants = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), wants, (cap, wanted) => {
        const given = shareOut(cap, wanted);
        const total = given.reduce((a, b) => a + b, 0);
        const asked = wanted.reduce((a, b) => a + b, 0);
        expect(total).toBeCloseTo(Math.min(cap, asked), 9);
        given.forEach((share, i) => {
          expect(share).toBeLessThanOrEqual((wanted[i] ?? 0) + 1e-12);
        });
      }),
    );
    expect(shareOut(0.9, [0.1, 0.8, 0.8])).toEqual([0.1, 0.4, 0.4]);
  });
});

describe("the forecast of a day", () => {
  const curve = (at: number) => 0.3 + 0.2 * Math.sin((2 * Math.PI * at) / 86_400);

  test("before any observation it is undefined, then it is the last value", () => {
    const forecast = dailyForecast();
    expect(forecast.peak(900)).toBeUndefined();
    forecast.observe(0, 0.4);
    forecast.observe(10, Number.NaN);
    expect(forecast.peak(900)).toBeCloseTo(0.4);
  });

  test("after a day it knows the next quarter of an hour, also on a busier day", () => {
    const forecast = dailyForecast();
    for (let at = 0; at < 86_400 * 2; at += 60) forecast.observe(at, curve(at));
    for (let at = 86_400 * 2; at < 86_400 * 2 + 14_400; at += 60) {
      forecast.observe(at, 1.5 * curve(at));
      if (at % 3600 === 3540)
        expect(Math.abs((forecast.peak(at + 900) ?? 0) / (1.5 * curve(at + 900)) - 1)).toBeLessThan(
          0.06,
        );
    }
  });
});
