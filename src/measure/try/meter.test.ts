// The default policy learns of a service that leaves gaps, while its windows alternate with those of `off`.
import { expect, test } from "vitest";
import { defaultPolicy, type Policy, policyNamed } from "#policy";
import { type Plant, played } from "../../../test/policy/plant.ts";
import { leavesGaps, Meter } from "./meter.ts";

const off = policyNamed("off");
const LAST = 4;
const [WINDOW_S, EVERY_S] = [6, 18];
/** A sample later than the policy changes: what ends in the first sample began before. */
const isOff = (seconds: number) => (seconds - 0.25) % EVERY_S >= WINDOW_S;

/** Bursts of 4 to 6 ms that hardly wait, but for 3 ms where nothing is held. */
const launching: Plant = {
  objective: undefined,
  perS: () => 60,
  burstUs: (_, seconds, random) => {
    const waitedUs = isOff(seconds) ? 3000 : 50;
    return { lastedUs: 4000 + 2000 * random() + waitedUs, waitedUs };
  },
};
const busy: Plant = { ...launching, burstUs: () => ({ lastedUs: 4000, waitedUs: 3800 }) };

/** The levels of the default policy where it was in force, and the meter in the end. */
function measured(plant: Plant, seconds: number) {
  const meter = new Meter(off);
  const levels: number[] = [];
  const policy: Policy = {
    ...meter.asPolicy,
    remember(look, memory) {
      const isDefault = (look.nowMs / 1000) % EVERY_S < WINDOW_S;
      meter.put(isDefault ? defaultPolicy : off);
      const next = meter.asPolicy.remember?.(look, memory);
      if (!next) throw new Error("the meter remembers nothing");
      if (isDefault) levels.push(next.level);
      return next;
    },
  };
  played([plant], seconds, 600, 1, { policy, isolated: true });
  meter.put(defaultPolicy);
  return { meter, levels };
}

test("a policy goes on in each of its windows where it was, and learns nothing of the others", () => {
  const { meter, levels } = measured(launching, 20 * EVERY_S);
  expect(levels.at(-1)).toBe(LAST);
  expect(levels.filter((level, i) => level < (levels[i - 1] ?? 0))).toEqual([]);
  expect(leavesGaps(meter.learned)).toBe(true);
  expect(meter.learned.forMs - meter.learned.levelSinceMs).toBeGreaterThan(10_000);
  // Each of its 20 windows but for the first sample.
  expect(meter.learned.forMs).toBeCloseTo(20 * (WINDOW_S - 0.25) * 1000);
});

test("a service that keeps the GPU busy is told from one that leaves gaps", () => {
  const { meter, levels } = measured(busy, 6 * EVERY_S);
  expect(meter.learned.bursts).toBeGreaterThan(300);
  expect(leavesGaps(meter.learned)).toBe(false);
  expect(new Set(levels)).toEqual(new Set([0]));
});

test("one burst that does not end says nothing of how busy the service is", () => {
  const endless: Plant = { ...busy, perS: (seconds) => (seconds < 10 ? 60 : 0) };
  expect(measured(endless, 9).meter.busyShare).toBeCloseTo(0.24, 1);
  expect(measured(endless, 12).meter.busyShare).toBeUndefined();
});
