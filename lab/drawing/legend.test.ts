import { expect, test } from "vitest";
import { flow } from "./legend.ts";

const frame = { left: 10, right: 100, y: 5, line: 20, gap: 4 };

test("entries follow each other, and break where the next does not fit", () => {
  expect(flow(frame, [40, 40, 40])).toEqual({
    at: [
      { x: 10, y: 5 },
      { x: 54, y: 5 },
      { x: 10, y: 25 },
    ],
    y: 25,
  });
});

test("an entry that is wider than the picture has a line of its own, and no empty one before", () => {
  expect(flow(frame, [200, 30]).at).toEqual([
    { x: 10, y: 5 },
    { x: 10, y: 25 },
  ]);
});
