import { expect, test } from "vitest";
import { learning } from "#place";
import type { PairRow } from "../../labels/pair.ts";
import { forecasts } from "../state/forecast.ts";
import { PairLearner } from "./learner.ts";
import { recordIn } from "./record.ts";
import { pairsByModel } from "./rows.ts";

const NOW = Date.parse("2026-03-01T00:00:00Z");
const HOUR = 3_600_000;

interface Measured {
  readonly retained?: number;
  /** Factor by which the median of the service grows. */
  readonly slowdown?: number;
  readonly seconds?: number;
  readonly others?: number;
  readonly policy?: string;
  readonly model?: string;
  readonly ended?: string;
  readonly hoursAgo?: number;
  readonly soloBusy?: number | undefined;
}

function row(service: string, job: string, of: Measured = {}): PairRow {
  const { retained = 0.7, slowdown = 1.1, seconds = 600, others = 0, policy = "cotenant" } = of;
  const { model = "H200", hoursAgo = 1, soloBusy = 0.9, ended } = of;
  return {
    pairing: `${service} ${job} ${hoursAgo} ${policy} ${model}`,
    ...{ job: { workload: job }, service: { workload: service } },
    predicted: { retained: 0.8, from: "turns" },
    at: new Date(NOW - hoursAgo * HOUR).toISOString(),
    measured: {
      ...{ retained, by: "work", seconds, load: 0.2, soloBusy, others, policy, model },
      mode: "isolated",
      service: {
        ...{ unit: "burst", perS: 60, p50Us: 1000 * slowdown, p99Us: 3000 },
        ...{ soloP50Us: 1000, soloP99Us: 2000 },
      },
    },
    ...(ended !== undefined && { ended }),
  };
}

const grid = (of: (service: number, job: number) => Measured): PairRow[] =>
  Array.from({ length: 36 }, (_, i) =>
    row(`s${Math.floor(i / 6)}`, `j${i % 6}`, of(Math.floor(i / 6), i % 6)),
  );

/** After a training. */
function learnerOf(rows: readonly PairRow[]): PairLearner {
  const learner = new PairLearner();
  learner.add(rows);
  expect(learner.trainIfDue(HOUR, NOW, 1.5)).toBe(true);
  return learner;
}

const pairs = (rows: readonly PairRow[], limit = 1.5) => pairsByModel(rows, limit, NOW).get("H200");

test("rows of two workloads are one pair, weighted by time", () => {
  const rows = [
    row("s", "j", { retained: 0.6, seconds: 300 }),
    row("s", "j", { retained: 0.8, seconds: 900, hoursAgo: 2 }),
  ];
  expect(pairs(rows)?.retained).toEqual([
    expect.objectContaining({ value: expect.closeTo(0.75), seconds: 1200 }),
  ]);
});

test("a pair that was parted for harm counts as slower than the policy allows, whatever was measured", () => {
  const rows = [
    row("s", "j", { slowdown: 1.2, seconds: 60, ended: "harm" }),
    row("s", "j", { slowdown: 1, seconds: 9000, hoursAgo: 2 }),
  ];
  const [harmed] = pairs(rows)?.slowdown ?? [];
  expect(harmed?.isCensored).toBe(true);
  expect(Math.exp(harmed?.value ?? 0)).toBeCloseTo(1.5);
});

test("a job whose demand a node has seen is forecast by it before any pair of it is measured", () => {
  const learner = learnerOf(
    grid((_, job) => ({ retained: 0.9 - 0.1 * job, soloBusy: 0.3 + 0.1 * job })),
  );
  const of = (job: string) => learner.of({ service: "s1", job }, "H200", 0.2)?.retained ?? 0;
  const before = of("new");
  expect(learner.kindOf("new")).toBe("");
  const demand = { class: "best-effort", seconds: 60, memoryBytes: 1 } as const;
  const at = new Date(NOW).toISOString();
  learner.demands.recall([{ ...demand, workload: "new", model: "H200", busy: 0.3, at }]);
  expect(learner.kindOf("new")).toBe("new");
  expect(of("new")).toBeGreaterThan(before + 0.1);
  expect(of("other")).toBe(before);
});

test("a measured pair whose job was never alone has the demand that a node has seen", () => {
  const { soloBusy: _, ...measured } = row("s", "j").measured;
  const rows = [{ ...row("s", "j"), measured }, row("s", "k", { soloBusy: 0.9 })];
  const busyOf = (workload: string) => (workload === "j" ? 0.2 : 0.5);
  const found = pairsByModel(rows, 1.5, NOW, { busyOf }).get("H200");
  expect([found?.busy.get("j"), found?.busy.get("k")]).toEqual([0.2, 0.9]);
  expect(found?.retained.find(({ job }) => job === "j")?.soloBusy).toBe(0.2);
});

test("rows of another arrangement, of several jobs and of former months do not count", () => {
  const rows = [
    row("s", "j", { hoursAgo: 1 }),
    row("s", "strict", { policy: "strict", hoursAgo: 2 }),
    row("s", "three", { others: 2 }),
    row("s", "old", { hoursAgo: 24 * 40 }),
  ];
  expect(pairs(rows)?.retained.map(({ job }) => job)).toEqual(["j"]);
});

test("a job of unknown demand counts as the median job", () => {
  const rows = [0.2, 0.5, 0.9].map((soloBusy, i) => row("s", `j${i}`, { soloBusy }));
  expect(pairs(rows)?.usualBusy).toBe(0.5);
});

test("below 20 pairs of workloads nothing is forecast but the turn bound", () => {
  const learner = learnerOf(grid(() => ({})).slice(0, 19));
  expect(learner.of({ service: "s0", job: "j0" }, "H200", 0.2)).toBeUndefined();
  expect(learner.summaries).toMatchObject([{ gpu: "H200", retained: { by: "prior", pairs: 19 } }]);
});

test("what was learned is of its model of GPU alone", () => {
  const learner = learnerOf(grid(() => ({})));
  const names = { service: "s0", job: "j0" };
  expect(learner.of(names, "H200", 0.2)).toMatchObject({ from: "rule", pairs: 36 });
  expect(learner.of(names, "H100", 0.2)).toBeUndefined();
});

test("it trains again after ten minutes, and only where rows have changed", () => {
  const learner = learnerOf(grid(() => ({})));
  expect(learner.trainIfDue(2 * HOUR, NOW, 1.5)).toBe(false);
  learner.add([row("s0", "j0", { hoursAgo: 0.5 })]);
  expect(learner.trainIfDue(HOUR + 60_000, NOW, 1.5)).toBe(false);
  expect(learner.trainIfDue(2 * HOUR, NOW, 1.5)).toBe(true);
});

test("a model that an earlier manager has found better decides at the next training", () => {
  const rows = grid((s, j) => ({ retained: 0.5 + 0.05 * s - 0.04 * j }));
  const before = learnerOf(rows).summaries;
  expect(before).toMatchObject([{ retained: { by: "rule", wins: 1 } }]);
  const next = new PairLearner();
  next.recall(recordIn(JSON.stringify({ learned: before })).learned);
  next.add(rows);
  next.trainIfDue(HOUR, NOW, 1.5);
  expect(next.summaries).toMatchObject([{ retained: { by: "model", wins: 2 } }]);
});

test.each(["", "[]", "{", '{"learned":[{"gpu":1}],"matches":-1}', "null"])(
  "a record that somebody has changed to %j counts as empty",
  (text) => {
    expect(recordIn(text)).toEqual({ matches: 0, explored: 0, learned: [] });
  },
);

test("a job that slows services is forecast with an upper bound above that of others", () => {
  const learner = learnerOf(grid((_, j) => (j === 0 ? { slowdown: 3, ended: "harm" } : {})));
  const known = forecasts(undefined, [], learning(), 1.5, learner);
  const gpu = { model: "H200", activeShare: 0.2 };
  const of = (job: string) => known.of(undefined, undefined, gpu, 0, { service: "s0", job });
  expect(of("j0").slowdownHigh).toBeGreaterThan(2);
  expect(of("j1").slowdown).toBeLessThan(1.5);
  expect(of("j1").slowdown).toBeLessThan(of("j1").slowdownHigh ?? 0);
  // Two alike retain half each.
  const two = known.of(undefined, undefined, gpu, 1, { service: "s0", job: "j1" });
  expect(two.retained).toBeCloseTo(of("j1").retained / 2);
});

test("a later measurement of a pair is compared with the earlier ones, unless the pair was harmed", () => {
  const rows = [
    row("s", "j", { hoursAgo: 1, retained: 0.9, slowdown: 1.2 }),
    row("s", "j", { hoursAgo: 3, retained: 0.6, slowdown: 1, seconds: 300 }),
    row("s", "j", { hoursAgo: 2, retained: 0.8, slowdown: 1, seconds: 900 }),
    row("s", "j", { hoursAgo: 0.5, retained: 0.1, slowdown: 4, ended: "harm" }),
  ];
  const { retained, slowdown } = pairs(rows) ?? { retained: [], slowdown: [] };
  // 0.75 is the mean of 300 s of 0.6 and 900 s of 0.8.
  expect(retained[0]?.again).toEqual([expect.closeTo(0.2), expect.closeTo(0.15)]);
  expect(slowdown[0]?.again).toEqual([0, expect.closeTo(Math.log(1.2))]);
});

test("a forecast has bounds of both figures, of the slowdown as nodes measure it", () => {
  const rows = grid((s, j) => ({ retained: 0.6 + 0.03 * s, slowdown: 1.1 + 0.05 * j }));
  const known = forecasts(undefined, [], learning(), 1.5, learnerOf(rows));
  const names = { service: "new", job: "other" };
  const of = (others: number) =>
    known.of(undefined, undefined, { model: "H200", activeShare: 0.2 }, others, names);
  const { retained, retainedLow = 1, retainedHigh = 0, bursts, slowdown = 0 } = of(0);
  expect(retainedLow).toBeLessThan(retained);
  expect(retainedHigh).toBeGreaterThan(retained);
  expect(bursts?.low).toBeLessThan(bursts?.slowdown ?? 0);
  expect(bursts?.high).toBeGreaterThan(bursts?.slowdown ?? 0);
  // Requests wait for each other, too.
  expect(bursts?.slowdown).toBeLessThan(slowdown);
  // Two alike retain half each.
  expect(of(1).retainedHigh).toBeCloseTo(retainedHigh / 2);
});
