import { expect, test } from "vitest";
import { avoidedNodes } from "./avoided.ts";

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
