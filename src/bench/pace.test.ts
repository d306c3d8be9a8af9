import { expect, test } from "vitest";
import { arrangementNamed } from "./arrangements.ts";
import { warmUpOf } from "./pace.ts";
import { readScenario } from "./scenario.ts";

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
