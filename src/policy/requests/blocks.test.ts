import { describe, expect, test } from "vitest";
import { gammas, mulberry32 } from "#core";
import { type Blocks, type Expected, extremeOf, lostIn, noBlocks, withBlock } from "./blocks.ts";

const LOOK_MS = 250;
const LOOKS = 40;
const each: Expected = {
  variation: 0.1,
  eachWindow: true,
  statistic: (values) => Math.max(...values),
};

/** Windows of which each has one value. `added`: by slices. */
function windows(values: readonly number[], limitUs: number, addedUs = 0, judged = each) {
  let blocks = noBlocks;
  let nowMs = 0;
  blocks = withBlock(blocks, [], { nowMs, limitUs, shares: addedUs > 0, judged });
  for (const us of values)
    for (let look = 0; look < LOOKS; look++) {
      nowMs += LOOK_MS;
      const told = look === 0 ? [{ soloUs: us, us: us + addedUs }] : [];
      blocks = withBlock(blocks, told, { nowMs, limitUs, shares: addedUs > 0, judged });
    }
  return { blocks, nowMs };
}

const extreme = ({ blocks, nowMs }: { blocks: Blocks; nowMs: number }, limitUs: number) =>
  extremeOf(blocks, limitUs, nowMs, { ...each, lost: new Set(lostIn(blocks, limitUs)) });

const drawn = (count: number, deviation: number) => {
  const gamma = gammas(deviation / 100, mulberry32(5));
  return Array.from({ length: count }, () => 100 * gamma());
};

describe("the longest that windows take", () => {
  test("is not known before one has ended", () => {
    expect(extremeOf(noBlocks, 200, 0, { ...each, lost: new Set() })).toBeUndefined();
  });

  test("lies three deviations above their mean, for one in a hundred", () => {
    const found = extreme(windows(drawn(60, 5), 1000), 1000);
    expect(found).toBeGreaterThan(110);
    expect(found).toBeLessThan(122);
  });

  test("is careful after the first window, and less so after many", () => {
    const few = extreme(windows([100], 1000), 1000) ?? 0;
    const many = extreme(windows(drawn(60, 1), 1000), 1000) ?? 0;
    expect(few).toBeGreaterThan(120);
    expect(many).toBeLessThan(few);
  });

  test("leaves no room where the engine alone is late in many", () => {
    expect(extreme(windows(drawn(60, 5), 102), 102)).toBe(Number.POSITIVE_INFINITY);
    const third = drawn(30, 5).map((us, n) => (n % 3 === 0 ? 3 * us : us));
    expect(extreme(windows(third, 200), 200)).toBe(Number.POSITIVE_INFINITY);
  });

  test("is as without a window that the engine alone breaks, whatever broke it", () => {
    const usual = drawn(20, 5);
    const without = extreme(windows(usual, 150), 150) ?? 0;
    const found = extreme(windows([...usual, 400, ...usual.slice(0, 2)], 150), 150) ?? 0;
    expect(found).toBeLessThan(1.02 * without);
    const { blocks, nowMs } = windows([...usual, 140], 150);
    const lost = new Set([nowMs]);
    const other = extremeOf(blocks, 150, nowMs, { ...each, lost }) ?? 0;
    expect(other).toBeLessThan(1.02 * without);
    expect(extreme({ blocks, nowMs }, 150)).toBeGreaterThan(1.1 * without);
  });

  test("is forgotten when all of the latest take longer", () => {
    const found = extreme(
      windows([...drawn(30, 2), ...drawn(6, 2).map((us) => us + 100)], 900),
      900,
    );
    expect(found).toBeGreaterThan(200);
    expect(found).toBeLessThan(260);
  });

  test("is the mean with confidence where not each window must hold", () => {
    const { blocks, nowMs } = windows(drawn(60, 5), 1000);
    const lost = new Set<number>();
    const found = extremeOf(blocks, 1000, nowMs, { ...each, lost, eachWindow: false });
    expect(found).toBeGreaterThan(100);
    expect(found).toBeLessThan(104);
  });
});

describe("caution", () => {
  test("grows by a window that slices broke, and shrinks by a hundredth of that for each that held", () => {
    const broken = windows([100], 110, 20).blocks.caution;
    expect(broken).toBeCloseTo(1.3);
    expect(windows([100, ...Array<number>(100).fill(80)], 110, 20).blocks.caution).toBeCloseTo(1);
  });

  test("is not about a window that the engine alone broke clearly, nor about a mean", () => {
    expect(windows([200], 110, 20).blocks.caution).toBe(1);
    const mean = { ...each, eachWindow: false };
    expect(windows([100], 110, 20, mean).blocks.caution).toBe(1);
  });
});
