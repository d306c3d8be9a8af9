import { expect, test } from "vitest";
import type { Clock } from "#core";
import { Lookout } from "./lookout.ts";

function watched() {
  let now = 0;
  let own: (() => void) | undefined;
  const clock: Clock = {
    now: () => now * 1e6,
    every: (period, run) => {
      expect(period).toBe(20_000);
      own = run;
      return () => {
        own = undefined;
      };
    },
    after: () => () => {},
  };
  const seen = { looks: 0, movers: false };
  const lookout = new Lookout(clock, () => {
    seen.looks++;
    return seen.movers;
  });
  /** Looks in so many ms. The agent asks for one every 100 ms; the others are the lookout's own. */
  const looksIn = (ms: number, { asked = true } = {}) => {
    seen.looks = 0;
    for (const until = now + ms; now < until; ) {
      now += 20;
      own?.();
      if (asked && now % 100 === 0) lookout.look();
    }
    return seen.looks;
  };
  return { lookout, seen, looksIn };
}

test("looks seldom while nobody can park memory, and every 20 ms while somebody can", () => {
  const { seen, looksIn } = watched();
  expect(looksIn(1000)).toBe(10);
  seen.movers = true;
  expect(looksIn(1000)).toBeGreaterThanOrEqual(50);
  seen.movers = false;
  looksIn(100);
  expect(looksIn(1000)).toBe(10);
});

test("looks often for two seconds after a client has come, which may say then that it can", () => {
  const { lookout, looksIn } = watched();
  lookout.noteComer();
  expect(looksIn(1900)).toBeGreaterThanOrEqual(95);
  looksIn(200);
  expect(looksIn(1000)).toBe(10);
});

test("does not look by itself after its end", () => {
  const { lookout, looksIn } = watched();
  lookout.noteComer();
  expect(looksIn(1000, { asked: false })).toBe(50);
  lookout.close();
  expect(looksIn(1000, { asked: false })).toBe(0);
});
