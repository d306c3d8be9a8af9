import { expect, test } from "vitest";
import { millis } from "#core";
import { submission, whenActive } from "#protocol";
import type { GpuUse, Look, Memory } from "../contract/policy.ts";
import { strict } from "../parameters/strict.ts";
import { gpuLoad, muxflow } from "./muxflow.ts";

const use = (smActivity: number, smClockMHz = 2000): GpuUse => ({
  smActivity,
  smClockMHz,
  mostSmClockMHz: 2000,
});

test("the load is SM activity times a factor that falls with the clock, steeply below the threshold", () => {
  expect(gpuLoad(use(0.5, 1800))).toBeCloseTo(0.5);
  expect(gpuLoad(use(0.5, 2000))).toBeCloseTo(0.5 * 0.9);
  expect(gpuLoad(use(0.5, 1620))).toBeCloseTo(0.5 * 2);
  expect(gpuLoad(use(0, 300))).toBe(0);
});

const seen = { isolated: false, high: [{ name: "high", burstP50Us: 4000 }], smCount: 132 };
const look = (nowMs: number, gpu: GpuUse | undefined): Look => ({
  ...seen,
  high: [],
  nowMs: millis(nowMs),
  colocated: true,
  gpu,
});

/** Rules after looks at these uses, four a second. */
function after(uses: readonly (GpuUse | undefined)[]) {
  let memory: Memory | undefined;
  uses.forEach((gpu, i) => {
    memory = muxflow.remember?.(look(250 * i, gpu), memory);
  });
  return muxflow.rules(seen, memory);
}

const intervalAfter = (...uses: readonly GpuUse[]) => after(uses).launchEveryNs;

test("without a forecast launches are limited by the load alone, and a request does not matter", () => {
  expect(after([use(0.5)])).toMatchObject({
    submission: submission.launch,
    whenActive: whenActive.allow,
  });
  const steady = intervalAfter(use(0.9, 1800), use(0.9, 1800));
  expect(intervalAfter(use(0.5), use(0.5))).toBeLessThan(steady);
  expect(intervalAfter(use(1, 1800), use(1, 1800))).toBeGreaterThan(steady);
});

test("in mode mps only kernels that fit the forecast share of the SMs run concurrently with a request, and it changes with it", () => {
  let memory = muxflow.remember?.({ ...look(0, use(0.5)), smShare: 0.4 }, undefined);
  expect(muxflow.rules(seen, memory)).toMatchObject({
    whenActive: whenActive.allowShort,
    smLimit: 53, // 0.4 x 132 are 52 whole SMs
  });
  memory = muxflow.remember?.({ ...look(250, use(0.5)), smShare: 0.9 }, memory);
  expect(muxflow.rules(seen, memory).smLimit).toBe(119);
  expect(muxflow.rules({ ...seen, isolated: true }, memory).whenActive).toBe(whenActive.allow);
});

test("a low clock delays launches at the same SM activity", () => {
  expect(intervalAfter(use(0.8, 1200))).toBeGreaterThan(intervalAfter(use(0.8, 1900)));
});

test("a GPU that stays full is left to a hundred launches a second, and one that stays empty is not limited", () => {
  const always = (one: GpuUse) => Array.from({ length: 200 }, () => one);
  expect(after(always(use(1, 1000))).launchEveryNs).toBe(10_000_000);
  expect(after(always(use(0)))?.launchEveryNs).toBe(1000);
});

test("without readings, or two seconds after the last one, it protects as strict does", () => {
  expect(muxflow.rules(seen)).toEqual(strict.rules(seen));
  expect(after([undefined])).toEqual(strict.rules(seen));
  const gone = (looks: number) =>
    after([use(0.2), ...Array.from({ length: looks }, () => undefined)]);
  expect(gone(8).submission).toBe(submission.launch);
  expect(gone(9)).toEqual(strict.rules(seen));
});

test("against a GPU whose activity follows the rate, it settles near its target", () => {
  let memory: Memory | undefined;
  let activity = 0;
  const seenLoads: number[] = [];
  for (let i = 0; i < 200; i++) {
    memory = muxflow.remember?.(look(250 * i, use(activity, 1800)), memory);
    const perS = 1e9 / muxflow.rules(seen, memory).launchEveryNs;
    // A service takes 0.3; a launch takes 100 us of the whole GPU.
    activity = Math.min(1, 0.3 + perS * 100e-6);
    seenLoads.push(activity);
  }
  const settled = seenLoads.slice(-40);
  expect(Math.min(...settled)).toBeGreaterThan(0.85);
  expect(Math.max(...settled)).toBeLessThan(0.95);
});
