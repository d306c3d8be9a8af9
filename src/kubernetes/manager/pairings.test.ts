import { expect, test } from "vitest";
import { predictedIn } from "./pairings.ts";

test("a Pairing has the bounds of what was learned, and nothing that no object can hold", () => {
  const forecast = {
    ...{ retained: 0.70049, retainedLow: 0.6, retainedHigh: 0.8, pairs: 21 },
    ...{ from: "rule" as const, slowdown: 1.2, slowdownHigh: Number.POSITIVE_INFINITY },
    bursts: { slowdown: 1.1, low: 1.00049, high: Number.POSITIVE_INFINITY },
  };
  expect(predictedIn(forecast)).toEqual({
    ...{ retained: 0.7, retainedLow: 0.6, retainedHigh: 0.8, from: "rule", pairs: 21 },
    ...{ slowdown: 1.2, bursts: { slowdown: 1.1, low: 1 } },
  });
});

test("the turn bound has none", () => {
  const turns = { retained: 0.8, from: "turns", share: 0.8, worth: 0.8 } as const;
  expect(predictedIn(turns)).toEqual({ retained: 0.8, from: "turns" });
});
