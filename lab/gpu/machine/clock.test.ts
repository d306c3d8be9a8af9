import { describe, expect, test } from "vitest";
import { modelOf } from "../model/presets.ts";
import { SmClock, steadyMHz } from "./clock.ts";

const { power } = modelOf("H200");
if (!power) throw new Error("the H200 has a power model");

describe("the H200's SM clock", () => {
  test("is at its highest when nearly idle and at 1,470 to 1,560 MHz under a bf16 matrix load", () => {
    expect(steadyMHz(power, 0.1, 0.1)).toBe(1980);
    expect(steadyMHz(power, 1, 0)).toBeGreaterThanOrEqual(1470);
    expect(steadyMHz(power, 1, 0)).toBeLessThanOrEqual(1560);
  });

  test("falls slowly, and the power settles at 690 W", () => {
    const clock = new SmClock(power);
    clock.tick(1, 0, 5e6);
    expect(clock.mhz).toBeGreaterThan(1900);
    for (let i = 0; i < 100; i++) clock.tick(1, 0, 5e6);
    expect(clock.mhz).toBeCloseTo(steadyMHz(power, 1, 0), -1);
    expect(clock.watts).toBeCloseTo(690, -1);
    for (let i = 0; i < 100; i++) clock.tick(0, 0, 5e6);
    expect(clock.mhz).toBe(1980);
  });
});
