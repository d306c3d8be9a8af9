import { describe, expect, test } from "vitest";
import { h200, plan } from "../../../test/gpu/example.ts";
import { modelOf, percentSms } from "../model/presets.ts";
import { Crowding } from "./crowding.ts";

const SMS = 132;
const { dramReachable, smOversupply } = h200();
const crowding = new Crowding(SMS, dramReachable, smOversupply);
const time = (shape: { sm: number; memory: number }, units: number, limit = SMS) =>
  crowding.time(plan([{ us: 100, sms: 10 * SMS, ...shape }]), 0, units, limit);

describe("fewer blocks of a kernel than the GPU holds", () => {
  // From bench/results/2026-11-22-h200-beside.json: reading with 32 KiB in flight on each SM, in GB/s.
  test.each([
    [8, 573.9],
    [16, 1109.2],
    [24, 1620.5],
    [40, 2529.1],
    [64, 3519.7],
    [96, 4193.6],
  ])("on %i SMs draw from DRAM what was measured, within 6 %%", (sms, measured) => {
    expect(crowding.drawn(sms) / (measured / 4450.7)).toBeGreaterThan(0.94);
    expect(crowding.drawn(sms) / (measured / 4450.7)).toBeLessThan(1.06);
  });

  test("are faster if DRAM was the limit", () => {
    const bound = { sm: 0.05, memory: dramReachable };
    expect(time(bound, SMS)).toBeCloseTo(1);
    expect(time(bound, 38)).toBeLessThan(0.55);
    expect(time({ sm: 0.05, memory: 0.3 }, 38)).toBeGreaterThan(time(bound, 38));
  });

  test("take the same time on fewer SMs if the SM is the limit", () => {
    expect(time({ sm: 0.9, memory: 0.1 }, 38, 38)).toBeCloseTo(1);
  });
});

describe("a percentage of the SMs under MPS", () => {
  test.each([
    [10, 12],
    [20, 26],
    [30, 38],
    [50, 66],
    [100, 132],
  ])("of %i leaves %i of an H200, as measured", (percent, sms) => {
    expect(percentSms(modelOf("H200"), percent)).toBe(sms);
  });
});
