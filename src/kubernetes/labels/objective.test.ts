import { expect, test } from "vitest";
import { objectiveIn } from "./objective.ts";

test.each([undefined, "", " ", 5])("%j states no objective", (text) => {
  expect(objectiveIn(text)).toEqual({ objective: undefined, problem: undefined });
});

test("several objectives are separated by spaces", () => {
  expect(objectiveIn(" p99=40ms  slowdown=10% ")).toEqual({
    objective: { p99Us: 40_000, slowdown: 0.1 },
    problem: undefined,
  });
});

test.each([
  ["p98=1ms", '"p98=1ms" is neither p99=TIME nor slowdown=PERCENT'],
  ["p99=1ms p99=2ms", '"p99=1ms p99=2ms" states p99 twice; state it once.'],
  ["p99=fast", '"fast" is not a time'],
])("%s counts as no objective", (text, says) => {
  const { objective, problem } = objectiveIn(text);
  expect(objective).toBeUndefined();
  expect(problem).toContain(says);
  expect(problem).toMatch(/ The pod has no objective\.$/);
});

test("objectives about requests of an engine count, beside others too", () => {
  expect(objectiveIn("p99=1ms ttft.p99=200ms")).toMatchObject({
    objective: {
      p99Us: 1000,
      requests: { ttft: { kind: "ttft", quantile: "p99", limitUs: 200_000 } },
    },
    problem: undefined,
  });
});
