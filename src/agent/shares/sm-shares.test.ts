import { expect, test } from "vitest";
import { nanos, wallMillis } from "#core";
import { SmShares } from "./sm-shares.ts";

const DAY = 86_400;
const GPU = "GPU-a";
const MIDNIGHT = wallMillis(Date.UTC(2026, 0, 1));

/** A service that is active 55 % of the time from 8 to 20 o'clock, and 10 % at night. */
const dayAndNight = (seconds: number) => {
  const hour = (seconds % DAY) / 3600;
  return hour >= 8 && hour < 20 ? 0.55 : 0.1;
};

function after(seconds: number) {
  const shares = new SmShares(nanos(0), MIDNIGHT);
  for (let at = 0; at <= seconds; at += 60) shares.observe(GPU, at * 1e9, [dayAndNight(at)]);
  return shares.of(GPU);
}

test("the share is what the services leave", () => {
  expect(after(3600)).toMatchObject({ active: 0.1, share: 0.9 });
});

test("on the second day the share falls before the morning's load comes", () => {
  const morning = 8 * 3600;
  expect(after(morning - 600)?.share).toBeCloseTo(0.9);
  const second = after(DAY + morning - 600);
  expect(second).toMatchObject({ active: 0.1 });
  expect(second?.forecast).toBeCloseTo(0.55);
  expect(second?.share).toBeCloseTo(0.4);
});

test("a load that was not forecast counts as soon as it is there", () => {
  const shares = new SmShares(nanos(0), MIDNIGHT);
  for (let at = 0; at < 600; at += 5) shares.observe(GPU, at * 1e9, [0.1]);
  for (let at = 600; at < 1200; at += 5) shares.observe(GPU, at * 1e9, [0.5, 0.3]);
  expect(shares.of(GPU)?.active).toBeCloseTo(0.8);
  expect(shares.of(GPU)?.share).toBeCloseTo(0.2);
});

test("best-effort work keeps a tenth, and without a high client nothing is known", () => {
  const shares = new SmShares(nanos(0), MIDNIGHT);
  shares.observe(GPU, 1e9, []);
  expect(shares.of(GPU)).toBeUndefined();
  shares.observe(GPU, 2e9, [0.9, 0.9]);
  expect(shares.of(GPU)).toMatchObject({ active: 1, share: 0.1 });
});
