import { expect, test } from "vitest";
import { type Clock, ms, nanos } from "#core";
import { AdaptivePoller } from "./adaptive-poller.ts";

const OFTEN = ms(20);

function watched() {
  let now = 0;
  let own: (() => void) | undefined;
  const clock: Clock = {
    now: () => nanos(now * 1e6),
    every: (period, run) => {
      expect(period).toBe(OFTEN);
      own = run;
      return () => {
        own = undefined;
      };
    },
    after: () => () => {},
  };
  const seen = { looks: 0, needed: false };
  const lookout = new AdaptivePoller(clock, OFTEN, () => {
    seen.looks++;
    return seen.needed;
  });
  /** Looks in this many ms. The agent asks for one every 100 ms; the others are the lookout's own. */
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

test("looks when it is asked to, and every 20 ms while that is needed", () => {
  const { seen, looksIn } = watched();
  expect(looksIn(1000)).toBe(10);
  seen.needed = true;
  expect(looksIn(1000)).toBe(46); // the first one when it is asked, after 100 ms
  expect(looksIn(1000)).toBe(50);
  seen.needed = false;
  looksIn(100);
  expect(looksIn(1000)).toBe(10);
});

test("looks often for two seconds after a client has come, which may say then that it is needed", () => {
  const { lookout, looksIn } = watched();
  lookout.noteComer();
  expect(looksIn(1900)).toBe(95);
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
