import { expect, test } from "vitest";
import type { Series } from "#dashboard";
import { exampleTimeline } from "../../../../test/dashboard/example.ts";
import { textOf } from "./line.ts";
import { sharesBy, timelineOf } from "./timeline.ts";

const series = (service: readonly (number | null)[], first = 0): Series => ({
  first,
  from: 0,
  period: 1000,
  service,
  bestEffort: service.map((value) => value && 0),
  held: service.map((value) => value && 0),
});

test("a column is the mean of its periods; what is not known does not count", () => {
  const cells = sharesBy(series([0.2, 0.4, null, 0.8, null, null]), 2, 4);
  expect(cells.map((cell) => cell?.service.toFixed(1))).toEqual([
    undefined,
    "0.3",
    "0.8",
    undefined,
  ]);
});

test("a column that is full never changes when time goes on", () => {
  const values = Array.from({ length: 40 }, (_, i) => i / 40);
  const at = (count: number, columns: number) =>
    sharesBy(series(values.slice(0, count), 7), 4, columns).slice(0, -1);
  const full = new Set(at(40, 20).map((cell) => cell?.service));
  for (const count of [37, 38, 39])
    expect(at(count, 5).map((cell) => full.has(cell?.service))).toEqual(Array(4).fill(true));
});

test.each([
  { stretch: 0, title: "last 82 s, 1 s a column" },
  { stretch: 1, title: "last 15 min, 11 s a column" },
  { stretch: 2, title: "last day, 18 min a column" },
])("stretch $stretch in 100 columns: $title", ({ stretch, title }) => {
  expect(timelineOf(exampleTimeline, stretch, 100, 4)?.title).toBe(title);
});

test("shares of nothing, of everything and of an unknown time can be distinguished", () => {
  const timeline = { ...exampleTimeline, second: series([null, 0, 1]) };
  const [service, , , idle] = timelineOf(timeline, 0, 23, 4)?.lines.map(textOf) ?? [];
  expect(service).toBe("service        ▁█  50 %");
  expect(idle).toBe("idle           █▁  50 %");
});

test("where there is no room there is no timeline", () => {
  expect(timelineOf(exampleTimeline, 0, 20, 4)).toBeUndefined();
  expect(timelineOf(exampleTimeline, 0, 80, 0)).toBeUndefined();
});
