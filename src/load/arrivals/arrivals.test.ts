import fc from "fast-check";
import { expect, test } from "vitest";
import { sfc32 } from "#core";
import {
  arrivalSeconds,
  arrivalTimes,
  parseArrivalFile,
  parseArrivals,
  scheduleArrivals,
} from "./arrivals.ts";

const generated = fc.record({
  kind: fc.constantFrom(
    "poisson" as const,
    "uniform" as const,
    "bursty" as const,
    "gamma" as const,
  ),
  rate: fc.double({ min: 0.1, max: 500, noNaN: true }),
  cv: fc.double({ min: 0.01, max: 5, noNaN: true }),
});
const seconds = fc.double({ min: 0.1, max: 20, noNaN: true });

test("arrivals are sorted, whole ns, and before the end", () => {
  fc.assert(
    fc.property(generated, seconds, fc.nat(), (arrivals, length, seed) => {
      const times = arrivalTimes(arrivals, length, sfc32(seed));
      expect(times).toEqual([...times].sort((a, b) => a - b));
      expect(times.every((t) => Number.isInteger(t) && t >= 0 && t < length * 1e9)).toBe(true);
    }),
  );
});

test("the same seed gives the same arrivals, another seed others", () => {
  fc.assert(
    fc.property(fc.nat(), (seed) => {
      const from = (n: number) => arrivalTimes({ kind: "poisson", rate: 50 }, 10, sfc32(n));
      expect(from(seed)).toEqual(from(seed));
      expect(from(seed)).not.toEqual(from(seed + 1));
    }),
  );
});

// Over 4,000 s at 50/s a Poisson count spreads by 0.2 %; bursts, correlated over a second, by 2 %.
test.each([
  { kind: "poisson", within: 0.01 },
  { kind: "uniform", within: 0.0001 },
  { kind: "bursty", within: 0.08 },
] as const)("$kind arrivals have the mean rate asked for", ({ kind, within }) => {
  for (const seed of [1, 2, 3]) {
    const count = arrivalTimes({ kind, rate: 50 }, 4000, sfc32(seed)).length;
    expect(Math.abs(count / (50 * 4000) - 1)).toBeLessThan(within);
  }
});

/** Variance of the counts in windows of a second, divided by their mean: 1 for Poisson. */
function dispersion(times: readonly number[], length: number): number {
  const counts = new Array<number>(length).fill(0);
  for (const t of times) counts[Math.floor(t / 1e9)] = (counts[Math.floor(t / 1e9)] ?? 0) + 1;
  const mean = times.length / length;
  return counts.reduce((sum, n) => sum + (n - mean) ** 2, 0) / length / mean;
}

test("bursty arrivals clump, Poisson's do not, uniform ones keep apart", () => {
  const clumps = (kind: "poisson" | "bursty" | "uniform") =>
    dispersion(arrivalTimes({ kind, rate: 50 }, 2000, sfc32(7)), 2000);
  expect(clumps("bursty")).toBeGreaterThan(5);
  expect(clumps("poisson")).toBeGreaterThan(0.85);
  expect(clumps("poisson")).toBeLessThan(1.15);
  expect(clumps("uniform")).toBeLessThan(0.01);
});

test.each([0.2, 1, 4])("gamma arrivals of CV %s have that spread and the mean rate", (cv) => {
  const times = arrivalTimes({ kind: "gamma", rate: 50, cv }, 4000, sfc32(5));
  const gaps = times.slice(1).map((t, i) => (t - (times[i] ?? 0)) / 1e9);
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const spread = Math.sqrt(gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length);
  expect(mean * 50).toBeCloseTo(1, 1);
  expect(spread / mean / cv).toBeCloseTo(1, 1);
});

test("each step has its own rate", () => {
  const steps = parseArrivals("steps:100s@20,50s@60,10s@0", undefined);
  if (steps.kind !== "steps") throw new Error("not steps");
  const times = arrivalTimes(steps, 0, sfc32(3));
  const inside = (from: number, to: number) =>
    times.filter((t) => t >= from * 1e9 && t < to * 1e9).length;
  expect(inside(0, 100) / 100).toBeCloseTo(20, -0.5);
  expect(inside(100, 150) / 50).toBeCloseTo(60, -1);
  expect(inside(150, 160)).toBe(0);
  expect(arrivalSeconds(steps, 7)).toBe(160);
});

test("steps may be multiples of one rate", () => {
  expect(parseArrivals("steps:10s@1x,5s@2.5x,1s@7", 20)).toEqual({
    kind: "steps",
    steps: [
      { seconds: 10, rate: 20 },
      { seconds: 5, rate: 50 },
      { seconds: 1, rate: 7 },
    ],
  });
});

test("files and traces have a length of their own", () => {
  const texts: Record<string, string> = { f: "0\n1500000000\n", t: "at\n10\n11\n12\n" };
  const of = (text: string, rate?: number) => {
    const arrivals = parseArrivals(text, rate);
    if (arrivals.kind === "closed") throw new Error("not open");
    return scheduleArrivals(arrivals, 7, sfc32(1), (path) => texts[path] ?? "");
  };
  expect(of("file:f")).toEqual({ offsets: [0, 1.5e9], seconds: 1.5 });
  expect(of("trace:t?column=at&unit=s")).toEqual({ offsets: [0, 1e9, 2e9], seconds: 2 });
  expect(of("trace:t?column=at&unit=s", 3)).toEqual({ offsets: [0, 5e8, 1e9], seconds: 1 });
  expect(of("uniform", 1)).toMatchObject({ seconds: 7 });
});

test("a file holds one ns offset a line, in any order", () => {
  expect(parseArrivalFile("# made by hand\n300\n\n100\n200\n", "f")).toEqual([100, 200, 300]);
});

test.each([
  ["sometimes", '"sometimes" is no kind of arrivals.'],
  ["poisson", "--arrivals poisson needs a rate."],
  ["gamma:2", "--arrivals gamma needs a rate."],
  ["file:", "--arrivals file: lacks a path."],
  ["steps:10@20", '"10@20" is not a step such as 10s@20 or 10s@2x.'],
  ["steps:10s@2x", 'The step "10s@2x" needs a rate to multiply.'],
  ["trace:t.csv?unit=ms", "--arrivals trace: lacks the column"],
  ["trace:t.csv?column=a", "--arrivals trace: needs a unit of s, ms, us, ns, iso."],
])("%s is refused by name", (text, message) => {
  expect(() => parseArrivals(text, undefined)).toThrow(message);
});

test.each(["gamma", "gamma:", "gamma:0", "gamma:x"])("%s has no spread to draw with", (text) => {
  expect(() => parseArrivals(text, 5)).toThrow("needs a coefficient of variation");
});

test("a line that is no number is refused", () => {
  expect(() => parseArrivalFile("12\n1.5\n", "a.txt")).toThrow('"1.5" in a.txt');
  for (const empty of ["", "\n", "# nothing\n"])
    expect(() => parseArrivalFile(empty, "a.txt")).toThrow("a.txt has no arrival");
});
