import { expect, test } from "vitest";
import { arrangementNamed } from "../scenario/arrangements.ts";
import { readScenario } from "../scenario/scenario.ts";
import { calibrationOf, serviceTime, warmUpOf } from "./pace.ts";

const folders = { catalogue: "bench/jobs.json", scenarios: "bench/scenarios" };
const pace = { serviceNs: 1e6, ratePerS: 200, seconds: 5 };

test.each([
  { pair: "bert-graph+gpt2-train", slo: ["slowdown=10%"], arrangement: "cotenant-mps", is: 40 },
  {
    pair: "bert-graph+gpt2-train",
    slo: ["slowdown=10%"],
    arrangement: "solo@cotenant-mps",
    is: 1.5,
  },
  // It fills the gaps of services without an objective, too.
  { pair: "bert-graph+gpt2-train", slo: [], arrangement: "cotenant-mps", is: 40 },
  { pair: "bert-graph+gpt2-train", slo: [], arrangement: "slo-mps", is: 1.5 },
  { pair: "bert-graph+gpt2-train", slo: ["slowdown=10%"], arrangement: "orion-mps", is: 1.5 },
  { pair: "bert-graph+gpt2-train", slo: ["slowdown=10%"], arrangement: "strict-mps", is: 1.5 },
  { pair: "training-training", slo: [], arrangement: "orion-mps", is: 40 },
])("before $arrangement of $pair with objectives $slo counts, $is s pass", (one) => {
  const scenario = readScenario(one.pair, { learn: 40, slo: one.slo }, folders);
  expect(warmUpOf(arrangementNamed(one.arrangement), scenario, pace)).toBe(one.is);
});

test("a request of a service takes the median of them, one of an engine the mean time from one to the next", () => {
  expect(serviceTime([2, 2, 2, 90], false)).toBe(2);
  // Four at a time, done together every 40.
  expect(serviceTime([0, 0, 0, 40, 0, 0, 0, 40], true)).toBe(10);
});

test("a job whose requests take seconds says how long it has to be watched", () => {
  expect(calibrationOf({ label: "short" })).toBe(1.5);
  expect(calibrationOf({ calibration_s: 0.2 })).toBe(1.5);
  expect(calibrationOf({ calibration_s: 12 })).toBe(12);
});
