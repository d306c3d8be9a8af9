import { describe, expect, test } from "vitest";
import { QueuedSteps } from "./queued-steps.ts";
import type { Segment } from "./segment-ring.ts";

const MS = 1e6;

/** Segments one after the other: what each takes, and whether it has the main work. A gap before one ends a burst. */
function segmentsOf(
  parts: readonly { readonly ms: number; readonly main: boolean; readonly gapMs?: number }[],
  from = 0,
): Segment[] {
  let end = from;
  return parts.map(({ ms, main, gapMs = 0 }) => {
    const begin = end + gapMs * MS;
    end = begin + ms * MS;
    const work = main ? { submissions: 60, nodes: 400 } : { submissions: 12, nodes: 0 };
    return { begin, end, waited: 0, ...work, main };
  });
}

const step = [
  { ms: 0.1, main: false },
  { ms: 5, main: true },
];
const many = (count: number) => Array.from({ length: count }, () => step).flat();

test("a small segment belongs to the next main one, and a step lasts from one main end to the next", () => {
  const steps = new QueuedSteps().add(segmentsOf(many(20)), false);
  expect(steps).toHaveLength(20);
  expect(steps[5]?.begin).toBe(steps[4]?.end);
  expect((steps[5]?.end ?? 0) - (steps[5]?.begin ?? 0)).toBeCloseTo(5.1 * MS);
  expect(steps[5]).toMatchObject({ bursts: 2, launches: 72 });
});

test("after the GPU was idle a step begins with its first submission", () => {
  const segments = segmentsOf([...many(2), { ms: 5, main: true, gapMs: 40 }]);
  const steps = new QueuedSteps().add(segments, false);
  expect((steps[2]?.end ?? 0) - (steps[2]?.begin ?? 0)).toBeCloseTo(5 * MS);
});

test("segments of one step may come in two calls", () => {
  const steps = new QueuedSteps();
  const segments = segmentsOf(many(2));
  expect(steps.add(segments.slice(0, 3), false)).toHaveLength(1);
  const [second] = steps.add(segments.slice(3), false);
  expect(second?.begin).toBe(segments[1]?.end);
});

test("what was begun before missing segments is no step", () => {
  const steps = new QueuedSteps();
  steps.add(segmentsOf(step.slice(0, 1)), false);
  const [first] = steps.add(segmentsOf(step.slice(1), 9 * MS), true);
  expect(first?.begin).toBe(9 * MS);
});

describe("a program queues ahead", () => {
  test("if work is outstanding behind most of its steps", () => {
    const steps = new QueuedSteps();
    steps.add(segmentsOf(many(10)), false);
    expect(steps.has).toBe(true);
  });

  test("but not if it looks at each result before it goes on", () => {
    const steps = new QueuedSteps();
    const apart = Array.from({ length: 50 }, () => ({ ms: 5, main: true, gapMs: 1 }));
    steps.add(segmentsOf(apart), false);
    expect(steps.has).toBe(false);
  });

  test("and is taken to go on so while it has little to queue", () => {
    const steps = new QueuedSteps();
    const rarely = Array.from({ length: 100 }, (_, i) => ({
      ...{ ms: 5, main: true },
      gapMs: i % 5 === 0 ? 0 : 30,
    }));
    steps.add(segmentsOf(many(40)), false);
    steps.add(segmentsOf(rarely, 1e9), false);
    expect(steps.has).toBe(true);
  });

  test("and a few steps tell nothing", () => {
    const steps = new QueuedSteps();
    steps.add(segmentsOf(many(5)), false);
    expect(steps.has).toBe(false);
  });
});
