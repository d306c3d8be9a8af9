import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quantile } from "#core";
import type { Figures } from "../model/figures.ts";
import { axisFor, MIN_PART } from "./axis.ts";
import { looksFor } from "./colours.ts";
import { findings, verdict } from "./findings.ts";
import { figuresTable } from "./tables.ts";

const figures = (scheduler: string, change: Partial<Figures> = {}): Figures => ({
  scheduler,
  seed: 1,
  jobs: 10,
  finished: 10,
  services: [{ name: "serve", meanMs: 1, p99Ms: 2, meanSlowdown: 1.1, p99Slowdown: 1.2 }],
  meanSlowdown: 1.1,
  p99Slowdown: 1.2,
  turnedAway: 0,
  jctMean: 600,
  jctMedian: 600,
  jctP95: 600,
  makespan: 3600,
  waitingMean: 60,
  byPriority: [],
  oversold: 0.9,
  busy: 0.5,
  activity: 0.5,
  memory: 0.5,
  starts: 10,
  moves: 0,
  evictions: 0,
  failures: 0,
  lost: 0,
  savedGpuHours: 1,
  savedDollars: 1,
  series: [],
  jcts: [600],
  ...change,
});
const slow = [{ name: "serve", meanMs: 1, p99Ms: 2, meanSlowdown: 1.3, p99Slowdown: 2 }];

describe("the verdict", () => {
  test("is none where completion times are no numbers", () => {
    expect(verdict([figures("late", { jctMean: Number.NaN })])).toBeUndefined();
  });

  const fast = figures("greedy", { jctMean: 590, meanSlowdown: 1.2 });
  const calm = figures("calm", { jctMean: 900, meanSlowdown: 1.01 });

  test("names who slows requests least among those that are about as soon as the first", () => {
    expect(verdict([fast, figures("cotenant")])).toMatch(/^Take cotenant .*: no other slows/);
    expect(verdict([fast, figures("cotenant"), calm])).toMatch(
      /^Take cotenant \(10\.0 min a job, .* for trainings\. .* take calm \(15\.0 min/,
    );
    expect(verdict([figures("late", { jctMean: 700 }), fast])).toMatch(/^Take greedy .* take late/);
  });

  test("is about the only one, or about jobs alone, or there is none", () => {
    expect(verdict([figures("cotenant")])).toMatch(/^Only cotenant .* starts trainings/);
    const alone = { services: [] };
    expect(verdict([figures("a", alone), figures("b", { ...alone, jctMean: 60 })])).toMatch(
      /^Take b: its jobs complete first, in 1\.0 min/,
    );
    expect(verdict([figures("online-only", { starts: 0 })])).toBeUndefined();
  });
});

test("the best of a column is marked among schedulers that start trainings, and not where all are equal", () => {
  const all = [
    figures("online-only", { starts: 0, finished: 0, meanSlowdown: 1 }),
    figures("a", { jctMean: 60 }),
    figures("b", { meanSlowdown: 1.05 }),
  ];
  const table = figuresTable(all, looksFor(all.map(({ scheduler }) => scheduler)));
  const best = [...table.matchAll(/class="best">([^<]+)</g)].map(([, text]) => text);
  expect(best).toEqual(["1.0", "1.050"]);
});

test("the samples of 32 schedulers differ", () => {
  const looks = [...looksFor(Array.from({ length: 32 }, (_, i) => `s${i}`)).values()];
  expect(new Set(looks.map(({ className, dashes }) => `${className} ${dashes}`)).size).toBe(32);
});

describe("the sentences", () => {
  const run = [
    figures("online-only", { starts: 0, finished: 0, p99Slowdown: 1 }),
    figures("time-sharing", { services: slow, meanSlowdown: 1.3, p99Slowdown: 2, jctMean: 800 }),
    figures("cotenant"),
  ];

  test("name the best for each side, and the distance to the baseline", () => {
    const [services, trainings] = findings(run);
    expect(services).toBe(
      "Best for services: cotenant, p99 latency 1.200 times that alone, mean latency 1.100 times; with the baseline time-sharing: p99 latency 2.000 times that alone, mean latency 1.300 times.",
    );
    expect(trainings).toBe(
      "Best for trainings: cotenant, a job completes in 10.0 min on average, 25 % less than with the baseline time-sharing (13.3 min).",
    );
  });

  test("count the services that miss their objective", () => {
    expect(findings(run)[2]).toBe(
      "Services that miss their objective, a mean latency of at most 1.15 times that alone: time-sharing 1 of 1 (serve 1.300); none with the others.",
    );
    expect(findings([figures("cotenant")])[1]).toContain("Best for trainings");
    expect(findings([figures("cotenant")])[2]).toMatch(/: none, with any scheduler\.$/);
  });

  test.each([
    [{ waitingMean: 300 }, "too few places for jobs limit the result"],
    [{ waitingMean: 6, oversold: 0.5 }, "slower work on shared GPUs limits the result"],
    [{ waitingMean: 6, oversold: 0.99 }, "little is lost, the work itself limits the result"],
  ])("of %j say that %s", (change, text) => {
    expect(findings([figures("cotenant", change)])[3]).toContain(text);
  });

  test("say what is as good, over several seeds what is within the deviation, and what did not end", () => {
    expect(findings([figures("muxflow"), figures("cotenant")])[1]).toContain("As good: cotenant.");
    const seeds = (name: string, times: readonly number[]) =>
      times.map((jctMean, i) => figures(name, { seed: i, jctMean, finished: 9 }));
    const [, trainings] = findings([
      ...seeds("muxflow", [600, 700]),
      ...seeds("cotenant", [590, 690]),
    ]);
    expect(trainings).toContain("Not further from it than its deviation over seeds: muxflow.");
    expect(trainings).toContain("1 of 10 jobs did not end");
  });

  test("without trainings or services say so, or nothing", () => {
    expect(findings([figures("online-only", { starts: 0 })])).toEqual([
      "No scheduler of this run started a training.",
    ]);
    expect(findings([figures("cotenant", { services: [] })])[0]).toMatch(/^Best for trainings/);
  });
});

test("an axis shows all values, unless one of them would flatten half of the curves", () => {
  expect(
    axisFor(
      [
        [1, 1.1],
        [1, 1.3],
      ],
      1,
      1,
    ).to,
  ).toBe(1.3);
  const values = fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), {
    minLength: 1,
    maxLength: 40,
  });
  fc.assert(
    fc.property(fc.array(values, { minLength: 1, maxLength: 9 }), (curves) => {
      const { from, to, ticks } = axisFor(curves, 1, 1);
      expect(ticks[0]).toBe(from);
      expect(ticks.length).toBeLessThanOrEqual(6);
      expect(ticks.length).toBeGreaterThanOrEqual(3);
      for (const tick of ticks) expect(tick).toBeLessThanOrEqual(to * (1 + 1e-9));
      const heights = curves
        .map((curve) => quantile(curve, 0.95) - from)
        .filter((height) => height > 0);
      const tall = heights.filter((height) => height >= MIN_PART * (to - from) * (1 - 1e-9));
      if (to - from > 1e-5) expect(tall.length).toBeGreaterThanOrEqual(heights.length / 2);
    }),
  );
});
