import { expect, test } from "vitest";
import { TimeRing } from "./time-ring.ts";

test("what was noted within a period is its mean, weighted by time", () => {
  const ring = new TimeRing(["x"], 60, 10);
  ring.note(61, 1, { x: 1 });
  ring.note(100, 3, { x: 0 });
  expect(ring.means("x", 0, 3)).toEqual([null, 0.25, null]);
});

test("the newest periods push the oldest out, and what was not seen is unknown", () => {
  const ring = new TimeRing(["x"], 1, 3);
  for (const at of [0, 1, 2, 3, 5]) ring.note(at, 0.5, { x: at });
  expect(ring.means("x", 0, 6)).toEqual([null, 1, null, 3, null, 5]);
});

test("a total counts what ended since, in value times seconds", () => {
  const ring = new TimeRing(["x"], 60, 100);
  for (let at = 0; at < 600; at++) ring.note(at, 1, { x: 0.5 });
  expect(ring.total("x", 0)).toBe(300);
  expect(ring.total("x", 540)).toBe(30);
  expect(ring.total("x", 600)).toBe(0);
});

test("its memory stays what it was made with", () => {
  const ring = new TimeRing(["x", "y"], 1, 900);
  const { bytes } = ring;
  for (let at = 0; at < 5000; at++) ring.note(at, 1, { x: 1, y: 1 });
  expect([bytes, ring.bytes]).toEqual([900 * (8 + 4 + 2 * 4), bytes]);
});
