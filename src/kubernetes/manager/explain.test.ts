import { expect, test } from "vitest";
import { explanations } from "./explain.ts";
import type { Pod } from "./state/objects.ts";

const now = Date.parse("2026-11-27T00:00:00Z");
const told = (message: string): Pod => ({
  metadata: {
    ...{ name: "train", namespace: "default", uid: "uid", resourceVersion: "1" },
    creationTimestamp: "2026-11-26T00:00:00Z",
  },
  spec: { containers: [] },
  status: {
    conditions: [{ type: "cotenant.io/Matched", status: "False", reason: "NoFreeGpu", message }],
  },
});

test.each([
  ["with other counts", "No GPU has a place: 4 are too busy.", 290, 310],
  ["that says something else", "No GPU has a place: 3 are not healthy.", 20, 40],
])("a sentence %s comes when the last one is old enough", (_, message, tooSoon, due) => {
  const pod = told("No GPU has a place: 3 are too busy.");
  const said = (seconds: number) =>
    explanations([{ pod, reason: "NoFreeGpu", message }], now, () => now - 1000 * seconds).map(
      ({ condition, isNew }) => [condition.message, isNew],
    );
  expect(said(tooSoon)).toEqual([]);
  expect(said(due)).toEqual([[message, false]]);
});
