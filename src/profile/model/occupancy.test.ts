import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  computeCapabilities,
  type LaunchNeeds,
  occupancy,
  partsOfSm,
  smsNeeded,
} from "./occupancy.ts";
import type { Dim3 } from "./types.ts";

const launch = (threads: number, needs: Omit<LaunchNeeds, "block"> = {}): LaunchNeeds => ({
  block: [threads, 1, 1],
  ...needs,
});

describe("what NVIDIA documents", () => {
  // CUDA C++ Best Practices Guide, "Calculating Occupancy": on capability 7.0, 37 registers a thread.
  test.each([
    { threads: 128, blocks: 12, percent: 75 },
    { threads: 320, blocks: 4, percent: 63 },
  ])("$threads threads of 37 registers are $percent % on 7.0", ({ threads, blocks, percent }) => {
    const { blocksPerSm, warps, limitedBy } = occupancy("7.0", launch(threads, { registers: 37 }));
    expect({ blocksPerSm, percent: Math.round(warps * 100) }).toEqual({
      blocksPerSm: blocks,
      percent,
    });
    expect(limitedBy).toEqual(["registers"]);
  });

  // From the same page: every block of full occupancy on 7.0 may have 32 registers a thread.
  test("32 registers a thread still fill an SM of 7.0", () => {
    expect(occupancy("7.0", launch(1024, { registers: 32 }))).toEqual({
      blocksPerSm: 2,
      warps: 1,
      limitedBy: ["warps", "registers"],
    });
  });

  // From the tuning guides: of blocks with the largest shared memory that a capability allows, one fits.
  test.each([
    ["7.0", 96],
    ["7.5", 64],
    ["8.0", 163],
    ["8.6", 99],
    ["8.9", 99],
    ["9.0", 227],
    ["10.0", 227],
    ["12.0", 99],
  ])("one block of capability %s may have %i KiB, and no byte more", (capability, kib) => {
    const most = { dynamicSharedBytes: kib * 1024 };
    expect(occupancy(capability, launch(128, most))).toMatchObject({
      blocksPerSm: 1,
      limitedBy: ["shared memory"],
    });
    const more = { staticSharedBytes: 1, ...most };
    expect(occupancy(capability, launch(128, more)).blocksPerSm).toBe(0);
  });

  test.each([
    ["7.0", 32, 64],
    ["7.5", 16, 32],
    ["8.0", 32, 64],
    ["8.6", 16, 48],
    ["8.9", 24, 48],
    ["9.0", 32, 64],
    ["12.0", 24, 48],
  ])("an SM of %s holds %i blocks of one warp, of %i warps", (capability, blocks, warps) => {
    const { blocksPerSm, warps: part, limitedBy } = occupancy(capability, launch(32));
    expect([blocksPerSm, blocksPerSm / part]).toEqual([blocks, warps]);
    expect(limitedBy).toEqual(["blocks"]);
  });
});

test("shared memory comes in portions, and includes the driver's part", () => {
  // 9.0: 28 KiB + 1 KiB reserved = 29 KiB, 7 times in 228; a byte more takes 128 bytes, still 7.
  expect(occupancy("9.0", launch(64, { staticSharedBytes: 28 * 1024 })).blocksPerSm).toBe(7);
  // 227.5 KiB / 8 blocks: 28.5 KiB fit exactly with the reserved KiB; one byte more does not.
  const exact = 28.5 * 1024 - 1024;
  expect(occupancy("9.0", launch(64, { dynamicSharedBytes: exact })).blocksPerSm).toBe(8);
  expect(occupancy("9.0", launch(64, { dynamicSharedBytes: exact + 1 })).blocksPerSm).toBe(7);
});

test("a launch the GPU refuses has no blocks on an SM", () => {
  expect(occupancy("9.0", launch(1025)).blocksPerSm).toBe(0);
  expect(occupancy("9.0", launch(1024, { registers: 65 })).blocksPerSm).toBe(0);
  expect(occupancy("9.0", launch(32, { registers: 257 })).blocksPerSm).toBe(0);
});

test("the SMs needed may be more than the GPU has", () => {
  const needs = { block: [16, 16, 1] as Dim3, registers: 32 };
  expect(smsNeeded("7.0", [128, 1, 1], needs)).toBe(16);
  expect(smsNeeded("7.0", [129, 1, 1], needs)).toBe(17);
  expect(smsNeeded("7.0", [4096, 16, 2], needs)).toBe(16_384);
});

test("a kernel whose needs are recorded wrongly still fits one block on an SM, because it ran", () => {
  expect(smsNeeded("9.0", [10, 1, 1], launch(128, { staticSharedBytes: 1e6 }))).toBe(10);
});

test("an unknown compute capability is reported with the known ones", () => {
  expect(() => occupancy("3.5", launch(32))).toThrow(
    "How many blocks fit on an SM of compute capability 3.5 is not known.",
  );
  expect(computeCapabilities).toEqual(
    expect.arrayContaining("7.0 7.2 7.5 8.0 8.6 8.7 8.9 9.0 10.0 10.3 11.0 12.0 12.1".split(" ")),
  );
});

const anyLaunch = fc.record({
  capability: fc.constantFrom(...computeCapabilities),
  threads: fc.integer({ min: 1, max: 1024 }),
  registers: fc.integer({ min: 0, max: 255 }),
  staticSharedBytes: fc.integer({ min: 0, max: 48 * 1024 }),
  dynamicSharedBytes: fc.integer({ min: 0, max: 240 * 1024 }),
});

test("asking for less of anything never fits fewer blocks", () => {
  fc.assert(
    fc.property(anyLaunch, fc.double({ min: 0, max: 1, noNaN: true }), (one, part) => {
      const { capability, threads, ...needs } = one;
      const { blocksPerSm } = occupancy(capability, launch(threads, needs));
      const fits = (less: LaunchNeeds) =>
        expect(occupancy(capability, less).blocksPerSm).toBeGreaterThanOrEqual(blocksPerSm);
      fits(launch(Math.max(Math.floor(threads * part), 1), needs));
      for (const key of ["registers", "staticSharedBytes", "dynamicSharedBytes"] as const)
        fits(launch(threads, { ...needs, [key]: Math.floor(needs[key] * part) }));
    }),
  );
});

test("the blocks that fit are within every limit, and one more would not be", () => {
  fc.assert(
    fc.property(anyLaunch, ({ capability, threads, ...needs }) => {
      const { blocksPerSm, warps, limitedBy } = occupancy(capability, launch(threads, needs));
      expect(warps).toBeLessThanOrEqual(1);
      expect(blocksPerSm * threads * needs.registers).toBeLessThanOrEqual(65_536);
      expect(limitedBy.length).toBeGreaterThan(0);
      expect(Number.isInteger(blocksPerSm)).toBe(true);
    }),
  );
});

test("the blocks that fit take at most a whole SM", () => {
  fc.assert(
    fc.property(anyLaunch, ({ capability, threads, ...needs }) => {
      const { blocksPerSm } = occupancy(capability, launch(threads, needs));
      fc.pre(blocksPerSm > 0);
      const parts = partsOfSm(capability, launch(threads, needs));
      for (const part of parts) expect(part * blocksPerSm).toBeLessThanOrEqual(1);
    }),
  );
  // 255 registers and 33 KiB of shared memory: half of the registers, a seventh of the shared memory.
  const [warps, blocks, registers, shared] = partsOfSm(
    "9.0",
    launch(128, { registers: 255, dynamicSharedBytes: 33_792 }),
  );
  expect([warps, blocks, registers]).toEqual([4 / 64, 1 / 32, 0.5]);
  expect(shared).toBeCloseTo(34 / 228);
});

test("the SMs needed hold all blocks, and one SM fewer would not", () => {
  fc.assert(
    fc.property(anyLaunch, fc.integer({ min: 1, max: 1e6 }), (one, blocks) => {
      const { capability, threads, ...needs } = one;
      const { blocksPerSm } = occupancy(capability, launch(threads, needs));
      fc.pre(blocksPerSm > 0);
      const sms = smsNeeded(capability, [blocks, 1, 1], launch(threads, needs));
      expect(sms * blocksPerSm).toBeGreaterThanOrEqual(blocks);
      expect((sms - 1) * blocksPerSm).toBeLessThan(blocks);
    }),
  );
});
