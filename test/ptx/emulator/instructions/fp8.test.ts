// Conversions of floats of a byte.
import { expect, test } from "vitest";
import { decode } from "#emulator";
import { run } from "./instruction.ts";

const NAN = Number.NaN;
const INF = Number.POSITIVE_INFINITY;

test.each<[string, string, number, number, number]>([
  ["1 and 448", "e4m3x2", 1, 448, 0x387e],
  ["beyond the largest", "e4m3x2", 449, -1e9, 0x7efe],
  ["what would round up to 480", "e4m3x2", 464, 465, 0x7e7e],
  ["infinity, not a number", "e4m3x2", -INF, NAN, 0xfe7f],
  ["ties to even", "e4m3x2", 1.0625, 1.1875, 0x383a],
  ["the smallest, half of it, more than half", "e4m3x2", 2 ** -9, 2 ** -10, 0x0100],
  ["a bit more than half of the smallest", "e4m3x2", 2 ** -10 + 2 ** -20, -(2 ** -12), 0x0180],
  ["the largest below normal ones", "e4m3x2", 7 * 2 ** -9, 7.75 * 2 ** -9, 0x0708],
  ["negatives to 0", "relu.e4m3x2", -3, 3, 0x0044],
  ["1 and 57344", "e5m2x2", 1, 57344, 0x3c7b],
  ["infinity is the largest", "e5m2x2", INF, 61441, 0x7b7b],
  ["ties to even", "e5m2x2", 1.125, 1.375, 0x3c3e],
  ["the smallest", "e5m2x2", 2 ** -16, 2 ** -17, 0x0100],
])("%s: %s", (_what, to, a, b, bits) => {
  const inputs = [
    ["f32", a],
    ["f32", b],
  ] as const;
  expect(run(`cvt.rn.satfinite.${to}.f32 d, a, b;`, "b16", inputs)).toBe(bits);
});

test("from halves as from floats", () => {
  expect(run("cvt.rn.satfinite.e4m3x2.f16x2 d, a;", "b16", [["b32", 0x3c00c000]])).toBe(0x38c0);
});

test.each(["e4m3", "e5m2"])("every %s comes back from an f16", (type) => {
  for (let bits = 0; bits < 128; bits++) {
    const pair = (bits << 8) | bits | 0x80;
    const halves = Number(run(`cvt.rn.f16x2.${type}x2 d, a;`, "b32", [["b16", pair]]));
    const upper = decode.f16(halves >>> 16);
    const back = run(`cvt.rn.satfinite.${type}x2.f16x2 d, a;`, "b16", [["b32", halves]]);
    if (Number.isFinite(upper)) expect(back).toBe(pair);
    else expect([bits >= 0x7c, type === "e5m2" || bits === 0x7f]).toEqual([true, true]);
    expect(decode.f16(halves & 0xffff)).toEqual(Number.isNaN(upper) ? NAN : -upper);
  }
});
