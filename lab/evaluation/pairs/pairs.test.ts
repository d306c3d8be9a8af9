import { expect, test } from "vitest";
import { readTable } from "../table.ts";
import { besideRequests } from "./beside.ts";
import { calibrationOf } from "./calibration.ts";
import { collectPairs, distinct } from "./collect.ts";
import { heldOutOf } from "./held-out.ts";
import { isOfCluster, readObjects } from "./objects.ts";

const names = { job: { workload: "aX9", profile: "research/train" }, service: { workload: "bY8" } };
const service = {
  unit: "burst",
  perS: 60,
  p50Us: 1250,
  p99Us: 3000,
  soloP50Us: 1000,
  soloP99Us: 2000,
};
const measured = (more: object = {}) => ({
  ...{ retained: 0.6, by: "work", seconds: 600, load: 0.5, policy: "cotenant", mode: "isolated" },
  ...{ model: "H200", others: 0, service, ...more },
});
const predicted = { retained: 0.5, from: "turns" };
const pairing = (uid: string, pair: object | undefined, more: object = {}) => ({
  kind: "Pairing",
  metadata: { uid },
  spec: { predicted, names, ...more },
  ...(pair && { status: { measured: { at: "2026-11-30T12:00:00Z", pair } } }),
});
const row = (uid: string, pair: object) => ({
  ...{
    pairing: uid,
    ...names,
    predicted,
    measured: pair,
    at: "2026-11-29T12:00:00Z",
    ended: "done",
  },
});
const report = (...pairs: object[]) => ({ kind: "SharingReport", status: { pairs } });
const profile = {
  kind: "WorkloadProfile",
  metadata: { namespace: "research", name: "train" },
  spec: { gpu: "H200", metrics: { smBusy: 90, ofAnotherVersion: 1 } },
};
const read = (...items: object[]) =>
  readObjects(JSON.stringify({ apiVersion: "v1", kind: "List", items }), "pairs.json");
const collect = (...items: object[]) =>
  collectPairs(read(...items), "cotenant-isolated", undefined);

test("pairs of a list become colocations beside requests, with the metrics of their profiles", () => {
  const { collected } = collect(pairing("1", measured()), pairing("2", undefined), profile);
  expect(collected).toEqual({
    version: 1,
    source: "H200, cotenant-isolated, 1 pairs of a cluster",
    arrangement: "cotenant-isolated",
    workloads: { "research/train": { smBusy: 90 } },
    colocations: [
      {
        clients: [
          { workload: "bY8", retained: 0.8 },
          // 0.6 over all = 0.5 x 0.2 + 0.5 x 1
          { workload: "research/train", retained: expect.closeTo(0.2) },
        ],
        seconds: 600,
      },
    ],
  });
  const table = readTable(JSON.stringify(collected), "measured.json", () => ({ smBusy: 50 }));
  expect(table.colocations).toHaveLength(1);
});

test("a pair counts once, by the row with the most seconds, also of a report after it is gone", () => {
  const rows = [row("1", measured({ retained: 0.7, seconds: 900 })), row("2", measured())];
  const { pairs } = read(pairing("1", measured()), report(...rows));
  expect(pairs).toHaveLength(3);
  expect(calibrationOf(pairs).retained.bySource).toMatchObject([
    { of: "turns", pairs: 2, hours: 1500 / 3600 },
  ]);
  const { collected } = collect(pairing("1", measured()), report(...rows));
  expect(collected.colocations).toMatchObject([{ seconds: 1500 }]);
});

test("pairs of the same workloads are one colocation, weighted by time", () => {
  const { collected } = collect(
    pairing("1", measured({ retained: 0.6, seconds: 100 })),
    pairing("2", measured({ retained: 0.9, seconds: 300 })),
  );
  expect(collected.colocations).toHaveLength(1);
  expect(collected.colocations[0]?.clients[1].retained).toBeCloseTo(0.25 * 0.2 + 0.75 * 0.8);
});

test.each([
  [{ by: "waits" }, "had no solo rate of the job"],
  [{ service: undefined }, "had no solo times of the service"],
  [{ others: 1 }, "shared with further jobs"],
  [{ load: 0.1 }, "had too little load"],
  [{ policy: "slo" }, "ran under slo-isolated"],
])("a pair with %o is left out", (more, why) => {
  const { leftOut } = collect(pairing("1", measured()), pairing("2", measured(more)));
  expect([...leftOut]).toEqual([[why, 1]]);
  expect(() => collect(pairing("2", measured(more)))).toThrow(`1 ${why}`);
});

test("pairs of several models of GPUs need a choice", () => {
  const both = [pairing("1", measured()), pairing("2", measured({ model: "H100" }))];
  expect(() => collect(...both)).toThrow("several models of GPUs: H100, H200");
  expect(collectPairs(read(...both), "cotenant-isolated", "H100").collected.source).toContain(
    "H100,",
  );
});

test("calibration compares predicted with measured, by source, by what was predicted and by day", () => {
  const other = { predicted: { retained: 0.95, from: "profiles" } };
  const { pairs } = read(
    pairing("1", measured({ retained: 0.6, seconds: 900 })),
    pairing("2", measured({ retained: 0.8, seconds: 300 })),
    pairing("3", measured({ retained: 1 }), other),
    pairing("4", measured({ by: "waits" })),
  );
  const { retained, slowdown } = calibrationOf(pairs);
  const { bySource, byPredicted, byDay } = retained;
  expect(slowdown).toBeUndefined();
  const bounds = {
    ...{ pairs: 0, aboveLow: Number.NaN, belowHigh: Number.NaN, within: Number.NaN },
  };
  expect(bySource).toEqual([
    {
      bounds,
      of: "profiles",
      pairs: 1,
      hours: 1 / 6,
      predicted: 0.95,
      measured: 1,
      error: expect.closeTo(0.05),
    },
    {
      ...{ bounds, of: "turns", pairs: 2, hours: 1 / 3, predicted: 0.5 },
      ...{ measured: expect.closeTo(0.65), error: expect.closeTo(0.15) },
    },
  ]);
  expect(byPredicted.map(({ of }) => of)).toEqual(["0.4 to 0.6", "0.8 to 1.0"]);
  expect(byDay).toMatchObject([{ of: "2026-11-30", pairs: 3 }]);
});

test("what is wrong in a list is named", () => {
  expect(() => read(pairing("1", measured({ load: 2 })))).toThrow(
    /pairs\.json, line 1, items\[0\]\.status\.measured\.pair\.load: is 2, not a number from 0 to 1/,
  );
});

test("results of the bench are no objects of a cluster", () => {
  expect(isOfCluster('{ "version": 2, "kind": "bench" }')).toBe(false);
  expect(isOfCluster("{")).toBe(false);
});

test("beside requests nothing is said of a service that is hardly active", () => {
  expect(besideRequests(0.99, 0.1)).toBeUndefined();
  expect([besideRequests(1.2, 0.5), besideRequests(0.1, 0.5)]).toEqual([1, 0]);
});

test("a job that never had the GPU by itself is measured by its solo rate in another pair", () => {
  const known = measured({ retained: 0.6, perS: 60, soloPerS: 100, soloBusy: 0.9 });
  const busy = measured({ retained: 0.95, by: "waits", perS: 40 });
  const { pairs } = read(pairing("1", known), pairing("2", busy));
  expect(distinct(pairs)).toMatchObject([
    { by: "work", retained: 0.6 },
    { by: "work", retained: 0.4, soloPerS: 100, soloBusy: 0.9 },
  ]);
  const elsewhere = read(pairing("1", known), pairing("2", { ...busy, model: "H100" })).pairs;
  expect(distinct(elsewhere)[1]).toMatchObject({ by: "waits", retained: 0.95 });
});

/** Each of some services with each of some jobs; predicted are the turns. */
const many = (services: number, jobs: number, retained: (load: number) => number) =>
  Array.from({ length: services * jobs }, (_, n) => {
    const load = 0.2 + 0.6 * (Math.floor(n / jobs) / services);
    const own = {
      job: { workload: `j${n % jobs}` },
      service: { workload: `s${Math.floor(n / jobs)}` },
    };
    const turns = { retained: 1 - load, from: "turns" };
    const pair = measured({ retained: retained(load), load, soloBusy: 1 });
    return pairing(`${n}`, pair, { names: own, predicted: turns });
  });

test("a rule that knows neither workload is compared with the predictions", () => {
  const [retained, slowdown] = heldOutOf(read(...many(6, 6, (load) => 1 - load / 2)).pairs);
  expect(retained).toMatchObject({ of: "retained", pairs: 36, isPrior: false, betterIn: 1 });
  expect(retained?.error).toBeLessThan(0.5 * (retained?.predictedError ?? 0));
  // The same for all, so that the rule is exact; the predictions are silent.
  expect(slowdown).toMatchObject({ of: "slowdown", predictedError: undefined, covered: 1 });
  expect(slowdown?.error).toBeCloseTo(0);
});

test("where predictions are right, the rule is not better", () => {
  const [retained] = heldOutOf(read(...many(6, 6, (load) => 1 - load)).pairs);
  expect(retained?.predictedError).toBeCloseTo(0);
  expect(retained?.betterIn).toBe(0);
});

test("of few pairs it is the prior that is compared, of none nothing", () => {
  const [retained] = heldOutOf(read(...many(3, 3, (load) => 1 - load)).pairs);
  expect(retained).toMatchObject({ pairs: 9, isPrior: true, error: expect.closeTo(0) });
  expect(heldOutOf(read(pairing("1", measured())).pairs)).toEqual([]);
});
