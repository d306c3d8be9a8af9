import { expect, test } from "vitest";
import { avoidedNodes, avoidedServices } from "./avoided.ts";

const MINUTE = 60_000;

test("a node is avoided twice as long after each refusal, a day at most, and others are not", () => {
  const avoided = avoidedNodes();
  const lengths: number[] = [];
  let now = 0;
  for (let times = 0; times < 11; times++) {
    avoided.add("job", "a", now);
    const since = now;
    while (avoided.now("job", now).length > 0) now += MINUTE;
    lengths.push(Math.round((now - since) / MINUTE) - 1);
  }
  expect(lengths.slice(0, 4)).toEqual([5, 10, 20, 40]);
  expect(lengths.at(-1)).toBe(24 * 60);
  expect([avoided.now("other", 0), avoided.ever("job")]).toEqual([[], ["a"]]);
  avoided.forget(now + 3 * 24 * 60 * MINUTE);
  expect(avoided.ever("job")).toEqual([]);
});

test("a service that was slowed is avoided for a day, and twice as long each time, a week at most", () => {
  const DAY = 24 * 60 * MINUTE;
  const slowed = avoidedServices();
  const days = [1, 2, 4, 7, 7];
  let now = 0;
  for (const length of days) {
    slowed.add("training", "service", now);
    expect(slowed.now("training", now + length * DAY)).toEqual(["service"]);
    now += length * DAY + 1;
    expect(slowed.now("training", now)).toEqual([]);
  }
});
