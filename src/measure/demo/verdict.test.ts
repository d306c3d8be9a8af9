import { expect, test } from "vitest";
import type { Demonstrated } from "./demo.ts";
import { demoVerdict } from "./verdict.ts";

type Shown = Demonstrated["arrangements"][number];
const shown = (arrangement: string, requestP99?: number, retained?: number) =>
  ({ arrangement, slowdown: { requestP99 }, retained }) as unknown as Shown;

test("the verdict names both slowdowns and what the training keeps", () => {
  const arrangements = [shown("together, no gate", 4.5, 0.8), shown("together, gated", 1.1, 0.75)];
  expect(demoVerdict({ arrangements })).toBe(
    "Sharing made the p99 of requests 4.50 times that alone. With Cotenant it is 1.10 times, and the best-effort job keeps 75 % of its throughput.",
  );
});

test("a run that shows no gain says so", () => {
  const arrangements = [shown("together, no gate", 1.1, 0.8), shown("together, gated", 1.3, 0.7)];
  expect(demoVerdict({ arrangements })).toContain("this run shows no gain. The best-effort job");
});

test("without figures there is no verdict", () => {
  expect(demoVerdict({ arrangements: [shown("together, gated")] })).toBeUndefined();
});
