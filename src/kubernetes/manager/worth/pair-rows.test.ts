import { expect, test } from "vitest";
import type { MeasuredPair, PairRow } from "../../labels/pair.ts";
import type { Pairing, Pod } from "../state/objects.ts";
import { MAX_ROWS, PairRows, withRows } from "./pair-rows.ts";

const measured = (seconds: number, others = 0): MeasuredPair => ({
  ...{ retained: 0.6, by: "work", seconds, load: 0.2, perS: 60, soloPerS: 100 },
  ...{ policy: "cotenant", mode: "isolated", model: "H200", others },
});
const pairing = (uid: string, at: string | undefined, others = 0): Pairing => ({
  metadata: {
    ...{ name: uid, namespace: "research", uid, resourceVersion: "1", creationTimestamp: "" },
  },
  spec: {
    ...{ pod: `train-${uid}`, service: "prod/serve-1", node: "a", gpu: "GPU-a", share: 0.5 },
    predicted: { retained: 0.8, from: "turns" },
    names: { job: { workload: "train" }, service: { workload: "serve", profile: "prod/serve" } },
  },
  ...(at !== undefined && {
    status: { measured: { retained: 0.6, at, pair: measured(60, others) } },
  }),
});
const row = (uid: string, at: string, seconds = 60, workload = "train"): PairRow => ({
  ...{ pairing: uid, at, measured: measured(seconds) },
  ...{ job: { workload }, service: { workload: "serve", profile: "prod/serve" } },
  predicted: { retained: 0.8, from: "turns" },
});

test("a pair has a row once it is measured, when it is measured again, and when it is over", () => {
  const rows = new PairRows();
  expect(rows.observe([pairing("1", undefined)]).size).toBe(0);
  expect(rows.observe([pairing("1", "10:00")]).get("research")).toEqual([row("1", "10:00")]);
  expect(rows.observe([pairing("1", "10:00")]).size).toBe(0);
  expect(rows.observe([pairing("1", "10:10")]).get("research")).toEqual([row("1", "10:10")]);
  expect(rows.observe([]).get("research")).toEqual([{ ...row("1", "10:10"), ended: "done" }]);
  expect(rows.observe([]).size).toBe(0);
});

test("a row keeps the bounds of its prediction, and not what it was made of", () => {
  const bounds = {
    retainedLow: 0.7,
    retainedHigh: 0.9,
    bursts: { slowdown: 1.1, low: 1, high: 2 },
  };
  const known = { retained: 0.8, slowdown: 1.3, from: "rule", ...bounds } as const;
  const one = pairing("1", "10:00");
  const predicted = { ...known, slowdownHigh: 3, pairs: 21, parts: { beside: 1, alone: 1 } };
  const rows = new PairRows().observe([{ ...one, spec: { ...one.spec, predicted } }]);
  expect(rows.get("research")).toMatchObject([{ predicted: known }]);
  expect(rows.get("research")?.[0]?.predicted).toEqual(known);
});

test("a row says the first cause of its pod's eviction", () => {
  const rows = new PairRows();
  rows.observe([pairing("1", "10:00")]);
  const pod = { metadata: { namespace: "research", name: "train-1" } } as Pod;
  rows.evicted(pod, "harm");
  rows.evicted(pod, "other");
  expect(rows.observe([]).get("research")).toMatchObject([{ ended: "harm" }]);
});

test("a manager that no longer decides ends no row", () => {
  const rows = new PairRows();
  rows.observe([pairing("1", "10:00")]);
  rows.reset();
  expect(rows.observe([]).size).toBe(0);
});

test("a row is replaced by the same pair's, unless a restarted node part has counted less", () => {
  const once = withRows([], [row("1", "10:00", 600)]);
  expect(withRows(once, [row("1", "10:10", 1200)])).toEqual([row("1", "10:10", 1200)]);
  const ended = { ...row("1", "10:10", 60), ended: "move" };
  expect(withRows(once, [ended])).toEqual([{ ...row("1", "10:00", 600), ended: "move" }]);
});

test("with other pods beside the service it is another pair", () => {
  const other = { ...row("1", "10:10"), measured: measured(60, 1) };
  expect(withRows([row("1", "10:00")], [other])).toHaveLength(2);
});

test("a report keeps at most 200 rows, and those of rare pairs", () => {
  const many = Array.from({ length: 250 }, (_, n) =>
    row(`${n}`, `11:${String(n).padStart(3, "0")}`),
  );
  const all = withRows([row("rare", "10:00", 60, "tune")], many);
  expect(all).toHaveLength(MAX_ROWS);
  expect(all[0]?.pairing).toBe("rare");
  expect(all.at(-1)?.pairing).toBe("249");
});
