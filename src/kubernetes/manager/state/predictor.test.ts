import { expect, test } from "vitest";
import { formatModel, train } from "#predict";
import {
  exampleMetrics,
  examplePairs,
  exampleWorkloads,
} from "../../../../test/predict/example.ts";
import { predictorIn } from "./predictor.ts";

const learnedUnder = (arrangement?: string): string => {
  const provenance = { source: "a GPU", date: "", command: "", arrangement };
  const training = { seed: 0, searchMs: 0, now: () => 0 };
  const rows = examplePairs(exampleWorkloads(6));
  return formatModel(train("linear", rows, exampleMetrics, training, provenance));
};

test.each(["strict-isolated", "cotenant-isolated"])("a model of %s answers", (arrangement) => {
  const { predictor, problem } = predictorIn(learnedUnder(arrangement), "model.json");
  expect(problem).toBeUndefined();
  const [one = {}, other = {}] = exampleWorkloads(2);
  expect(predictor?.predict(one, [other]).retained).toBeGreaterThan(0);
});

test.each([
  { arrangement: "mps", says: "model.json was learned under mps, and pods run under" },
  { arrangement: undefined, says: "model.json does not say how the jobs shared the GPU" },
])("a model of $arrangement does not", ({ arrangement, says }) => {
  const { predictor, problem } = predictorIn(learnedUnder(arrangement), "model.json");
  expect(predictor).toBeUndefined();
  expect(problem).toContain(says);
  expect(problem).toContain("predict collect --arrangement strict-isolated");
});
