// Requirements on every learner.
import { describe, expect, test } from "vitest";
import { mulberry32, shuffle } from "#core";
import {
  exampleColocations,
  exampleMetrics,
  examplePairs,
  exampleWorkloads,
} from "../../test/predict/example.ts";
import { accuracyOf, meanOf } from "./accuracy.ts";
import { type LearnerName, learnerNames } from "./learners.ts";
import { formatModel, openModel, parseModel, train } from "./model.ts";

const workloads = exampleWorkloads(10);
const mixed = shuffle(examplePairs(workloads), mulberry32(3));
const [learned, held] = [mixed.slice(0, 38), mixed.slice(38)];
const split = examplePairs(workloads, 0.3);
const provenance = { source: "an invented GPU", date: "2026-01-01", command: "test" };

/** Small data, and a clock that counts its readings, so that the search over models always ends after the same few. */
const training = () => {
  let readings = 0;
  return { seed: 7, forestTests: 2, epochs: 40, searchMs: 5, now: () => readings++ };
};
const trained = new Map(
  learnerNames.map((name) => [name, train(name, learned, exampleMetrics, training(), provenance)]),
);
const modelOf = (name: LearnerName) => {
  const model = trained.get(name);
  if (!model) throw new Error(name);
  return model;
};

/** The error of predicting the mean for every side. */
const values = held.flatMap(({ sides }) => sides.map(({ retained }) => retained));
const meanError = meanOf(values.map((value) => Math.abs(value - meanOf(values))));

describe.each(learnerNames)("%s", (name) => {
  const predictor = openModel(modelOf(name));
  const [a = {}, b = {}, c = {}] = workloads;

  test("knows held-out pairs better than the mean does", () => {
    expect(accuracyOf(held, predictor).error).toBeLessThan(0.7 * meanError);
  });

  test("its bounds contain about as many true values as it states", () => {
    expect(accuracyOf(held, predictor).covered).toBeGreaterThan(0.7);
  });

  test("predicts the same after it was read from its file", () => {
    const again = openModel(parseModel(formatModel(modelOf(name)), "model.json"));
    expect(again.predict(a, [b])).toEqual(predictor.predict(a, [b]));
    expect(again.predict(a, [b, c])).toEqual(predictor.predict(a, [b, c]));
  });

  test("predicts the same with the same seed", () => {
    expect(train(name, learned, exampleMetrics, training(), provenance)).toEqual(modelOf(name));
  });

  test("says while it trains what part is done, unless it takes no time", () => {
    const parts: number[] = [];
    const told = (part: number) => void parts.push(part);
    train(name, learned, exampleMetrics, { ...training(), told }, provenance);
    expect(parts.length > 1).toBe(!["linear", "ridge"].includes(name));
    expect(parts).toEqual(parts.toSorted((a, b) => a - b));
    for (const part of parts) expect(part > 0 && part <= 1, `${part}`).toBe(true);
  });

  test("answers for any number of clients, with bounds around the value", () => {
    for (const others of [[], [b], [b, c], [b, c, a, a, b]]) {
      const { retained, low, high, uncertainty } = predictor.predict(a, others);
      expect(retained).toBeGreaterThanOrEqual(0);
      expect(low).toBeLessThanOrEqual(retained);
      expect(high).toBeGreaterThanOrEqual(retained);
      expect(uncertainty).toBeGreaterThanOrEqual(0);
      expect(Number.isFinite(high + uncertainty)).toBe(true);
    }
    expect(predictor.predict(a, [])).toMatchObject({ retained: 1, uncertainty: 0, familiar: true });
  });

  test.each([
    { sizes: [3], asked: 3 },
    { sizes: [2, 3, 4], asked: 4 },
  ])("learns from colocations of $sizes clients", ({ sizes, asked }) => {
    const rows = sizes.flatMap((size) => exampleColocations(workloads, size, 20, size));
    const among = openModel(train(name, rows, exampleMetrics, training(), provenance));
    const fresh = exampleColocations(workloads, asked, 30, 9);
    const truths = fresh.flatMap((row) => row.sides.map(({ retained }) => retained));
    const usual = meanOf(truths.map((value) => Math.abs(value - meanOf(truths))));
    expect(accuracyOf(fresh, among).error).toBeLessThan(0.8 * usual);
  });

  test("learns from four colocations", () => {
    const few = openModel(train(name, learned.slice(0, 4), exampleMetrics, training(), provenance));
    const { retained, low, high } = few.predict(a, [b]);
    expect(Number.isFinite(retained + low + high)).toBe(true);
    expect(low <= retained && retained <= high).toBe(true);
  });

  test("says when a workload is unlike all it knows", () => {
    expect(predictor.predict(a, [b]).familiar).toBe(true);
    const strange = { ...b, kernelUs: 1e6, memoryGB: 1e4 };
    expect(predictor.predict(a, [strange]).familiar).toBe(false);
    expect(predictor.predict(strange, [a]).familiar).toBe(false);
  });

  test("does not use names or metrics that it was not trained on", () => {
    const renamed = { ...a, threads: 5e6, name: "bert" };
    expect(predictor.predict(renamed, [b])).toEqual(predictor.predict({ ...a }, [{ ...b }]));
  });

  test("names the metric that a workload lacks or has a wrong value of", () => {
    const { kernelUs: _, ...rest } = a;
    expect(() => predictor.predict(rest, [b])).toThrow("A workload has no kernelUs (us, mean");
    expect(() => predictor.predict(a, [rest])).toThrow("A workload has no kernelUs");
    expect(() => predictor.predict({ ...a, smBusy: Number.NaN }, [b])).toThrow(
      "A workload: its smBusy is NaN, not a number of 0 or more.",
    );
  });

  test("learns what an SM share costs", () => {
    const shared = openModel(
      train(name, [...learned, ...split], exampleMetrics, training(), provenance),
    );
    const mean = (share: number) =>
      meanOf(
        workloads.map(
          (one) => shared.predict(one, [b], { target: share, others: [1 - share] }).retained,
        ),
      );
    expect(mean(0.3)).toBeLessThan(mean(0.7));
  });
});

test.each([
  { rows: learned.slice(0, 3), says: "3 colocations are fewer than 4" },
  {
    rows: learned.map(({ sides }, i) => ({ sides: i === 5 ? sides.slice(1) : sides })),
    says: "a colocation has fewer than two clients",
  },
  {
    rows: Array.from({ length: 9 }, () => examplePairs([workloads[0] ?? {}])).flat(),
    says: "all workloads have the same metrics",
  },
  {
    rows: learned.map(({ sides }, i) => ({
      sides: sides.map((side) => (i === 5 ? { ...side, retained: Number.NaN } : side)),
    })),
    says: "A workload: its retained throughput is NaN",
  },
])("$says", ({ rows, says }) => {
  expect(() => train("ours", rows, exampleMetrics, training(), provenance)).toThrow(says);
});

test.each(["ours", "mixed"] as const)(
  "bounds of %s also hold for workloads without measurements",
  (name) => {
    const [known, others] = [exampleWorkloads(12), exampleWorkloads(30, 5)];
    const predictor = openModel(
      train(name, examplePairs(known), exampleMetrics, training(), provenance),
    );
    const [told, untold] = [known, others].map((some) => accuracyOf(examplePairs(some), predictor));
    expect(untold?.covered).toBeGreaterThan(0.85);
    expect(untold?.width).toBeGreaterThan(told?.width ?? 1);
  },
);

test.each(["ours", "mixed"] as const)(
  "bounds of %s hold beside more neighbours than were measured",
  (name) => {
    const predictor = openModel(
      train(name, examplePairs(workloads), exampleMetrics, training(), provenance),
    );
    for (const size of [3, 4]) {
      const { covered } = accuracyOf(exampleColocations(workloads, size, 40), predictor);
      expect(covered, `${size} clients`).toBeGreaterThan(0.85);
    }
  },
);

test("how neighbours' costs add up is learned", () => {
  const pairs = examplePairs(workloads);
  const triples = exampleColocations(workloads, 3, 40);
  const quads = exampleColocations(workloads, 4, 40);
  const errorOf = (rows: typeof pairs) =>
    accuracyOf(quads, openModel(train("ours", rows, exampleMetrics, training(), provenance))).error;
  // These jobs take turns, and slowdowns are held to multiply where only pairs were measured.
  expect(errorOf([...pairs, ...triples])).toBeLessThan(0.5 * errorOf(pairs));
});

test("correlated metrics are allowed", () => {
  const doubled = learned.map(({ sides }) => ({
    sides: sides.map((side) => ({
      ...side,
      features: { ...side.features, smActivity: (side.features.smBusy ?? 0) / 100, smOccupancy: 1 },
    })),
  }));
  for (const name of ["ours", "linear", "ridge"] as const) {
    const metrics = [...exampleMetrics, "smActivity", "smOccupancy"] as const;
    const predictor = openModel(train(name, doubled, metrics, training(), provenance));
    expect(accuracyOf(doubled, predictor).error).toBeLessThan(0.7 * meanError);
  }
});
