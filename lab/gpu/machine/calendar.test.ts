import fc from "fast-check";
import { expect, test } from "vitest";
import { Calendar } from "./calendar.ts";

test("events come by time, then priority, then in the order they were added", () => {
  const event = fc.record({ time: fc.nat({ max: 20 }), priority: fc.nat({ max: 3 }) });
  fc.assert(
    fc.property(fc.array(event, { maxLength: 600 }), (events) => {
      const calendar = new Calendar();
      for (const [i, { time, priority }] of events.entries())
        calendar.add(time, priority, i, priority);
      const taken: { time: number; priority: number; i: number }[] = [];
      while (calendar.size > 0) {
        calendar.take();
        taken.push({ time: calendar.time, priority: calendar.kind, i: calendar.who });
      }
      const expected = events
        .map(({ time, priority }, i) => ({ time, priority, i }))
        .sort((a, b) => a.time - b.time || a.priority - b.priority || a.i - b.i);
      expect(taken).toEqual(expected);
      expect(calendar.next).toBe(Number.POSITIVE_INFINITY);
    }),
  );
});
