// Floats, conversions and comparisons where it is easy to be wrong: ties, subnormals, infinities, what is not a number.
import { describe, expect, test } from "vitest";
import { run, type Typed } from "./instruction.ts";
import { check, INF, MAX, MAX_F32, NAN, TINY_F32 } from "./rows.ts";

describe("f32", () => {
  check([
    ["add.f32", [1, 2 ** -24], 1],
    ["add.f32", [1, 3 * 2 ** -24], 1 + 2 ** -22],
    ["add.rz.f32", [1, 2 ** -24], 1],
    ["add.rp.f32", [1, 2 ** -100], 1 + 2 ** -23],
    ["add.rm.f32", [1, -(2 ** -100)], 1 - 2 ** -24],
    ["add.rm.f32", [1, -1], -0],
    ["add.rn.f32", [1, -1], 0],
    ["add.f32", [INF, -INF], NAN],
    ["add.f32", [MAX_F32, MAX_F32], INF],
    ["add.rz.f32", [MAX_F32, MAX_F32], MAX_F32],
    ["add.rm.f32", [-MAX_F32, -MAX_F32], -INF],
    ["add.sat.f32", [0.75, 0.75], 1],
    ["add.sat.f32", [NAN, 0.75], 0],
    ["add.ftz.f32", [TINY_F32, TINY_F32], 0],
    ["add.f32", [TINY_F32, TINY_F32], 2 * TINY_F32],
    ["mul.f32", [2 ** -100, 2 ** -49], TINY_F32],
    ["mul.rp.f32", [2 ** -100, 2 ** -100], TINY_F32],
    ["mul.rz.f32", [-(2 ** -100), 2 ** -100], -0],
    ["mul.ftz.f32", [-(2 ** -100), 2 ** -30], -0],
    ["mul.f32", [INF, 0], NAN],
    ["fma.rn.f32", [1 + 2 ** -23, 1 + 2 ** -23, -1], 2 ** -22],
    // A double would round the sum to a tie first.
    ["fma.rn.f32", [1 + 2 ** -12, 1 + 2 ** -12, 2 ** -60], 1 + 2 ** -11 + 2 ** -23],
    ["fma.rz.f32", [1, 1, -(2 ** -100)], 1 - 2 ** -24],
    ["fma.rn.f32", [INF, 0, 1], NAN],
    ["div.rn.f32", [1, 3], Math.fround(1 / 3)],
    ["div.rp.f32", [1, 3], 0.3333333432674408],
    ["div.rm.f32", [1, 3], 0.3333333134651184],
    ["div.rn.f32", [1, 0], INF],
    ["div.rn.f32", [-1, 0], -INF],
    ["div.rn.f32", [0, 0], NAN],
    ["div.rz.f32", [TINY_F32, 4], 0],
    ["sqrt.rn.f32", [2], Math.fround(Math.SQRT2)],
    ["sqrt.rm.f32", [2], 1.4142135381698608],
    ["sqrt.rp.f32", [2], 1.4142136573791504],
    ["sqrt.rn.f32", [-1], NAN],
    ["sqrt.rn.f32", [-0], -0],
    ["rcp.rn.f32", [3], Math.fround(1 / 3)],
    ["rsqrt.approx.f32", [4], 0.5],
    ["rsqrt.approx.f32", [0], INF],
    ["ex2.approx.f32", [-149], TINY_F32],
    ["ex2.approx.ftz.f32", [-149], 0],
    ["lg2.approx.f32", [8], 3],
    ["lg2.approx.f32", [-1], NAN],
    ["sin.approx.f32", [INF], NAN],
    ["min.f32", [NAN, 1], 1],
    ["min.NaN.f32", [NAN, 1], NAN],
    ["min.f32", [0, -0], -0],
    ["max.f32", [-0, 0], 0],
    ["max.xorsign.abs.f32", [-3, 2], -3],
    ["neg.f32", [0], -0],
    ["abs.f32", [-0], 0],
    ["copysign.f32", [-1, 5], -5],
  ]);

  test("what is not a number has PTX's bits", () => {
    const bits = (line: string, inputs: Typed[]) => run(line, "b32", inputs);
    expect(
      bits("{ .reg .f32 x; add.f32 x, a, b; mov.b32 d, x; }", [
        ["f32", INF],
        ["f32", -INF],
      ]),
    ).toBe(0x7fffffff);
    expect(
      bits("{ .reg .f32 x; mov.b32 x, a; mov.f32 x, x; mov.b32 d, x; }", [["b32", 0xffc12345]]),
    ).toBe(0xffc12345);
    expect(
      bits("{ .reg .f32 x; mov.b32 x, a; neg.f32 x, x; mov.b32 d, x; }", [["b32", 0xffc12345]]),
    ).toBe(0x7fc12345);
  });
});

describe("f64", () => {
  check([
    ["add.rz.f64", [1, -(2 ** -60)], 1 - 2 ** -53],
    ["add.rp.f64", [1, 2 ** -60], 1 + 2 ** -52],
    ["add.rm.f64", [1, -1], -0],
    ["mul.rp.f64", [1 + 2 ** -52, 1 + 2 ** -52], 1 + 2 ** -51 + 2 ** -52],
    ["mul.rz.f64", [Number.MAX_VALUE, 2], Number.MAX_VALUE],
    ["mul.rp.f64", [Number.MIN_VALUE, 0.25], Number.MIN_VALUE],
    ["fma.rn.f64", [1 + 2 ** -52, 1 + 2 ** -52, -1], 2 ** -51 + 2 ** -104],
    ["fma.rn.f64", [1 + 2 ** -27, 1 + 2 ** -26, 2 ** -200], 1 + 2 ** -26 + 2 ** -27 + 2 ** -52],
    ["fma.rn.f64", [1e300, 1e10, -INF], -INF],
    ["fma.rn.f64", [2 ** -600, 2 ** -600, 1], 1],
    ["fma.rp.f64", [2 ** -600, 2 ** -600, 1], 1 + 2 ** -52],
    ["div.rz.f64", [2, 3], 0.6666666666666666],
    ["div.rp.f64", [1, 3], 0.33333333333333337],
    ["div.rm.f64", [-1, 3], -0.33333333333333337],
    ["sqrt.rm.f64", [2], Math.SQRT2 - 2 ** -52],
    ["sqrt.rp.f64", [2], Math.SQRT2],
    ["rcp.rn.f64", [3], 1 / 3],
    ["min.f64", [NAN, -1], -1],
  ]);
});

describe("halves, as bits", () => {
  check([
    ["add.f16", [0x3c00, 0x3c00], 0x4000],
    ["add.f16", [0x7bff, 0x7bff], 0x7c00],
    ["add.sat.f16", [0x3c00, 0x3c00], 0x3c00],
    ["add.f16", [0x7c00, 0xfc00], 0x7fff],
    ["add.f16", [0x0001, 0x0001], 0x0002],
    ["mul.f16", [0x0001, 0x3800], 0x0000],
    ["mul.f16", [0x0003, 0x3800], 0x0002],
    ["fma.rn.f16", [0x3c01, 0x3c01, 0x0001], 0x3c02],
    ["fma.rn.relu.f16", [0x3c00, 0xbc00, 0x0000], 0x0000],
    ["neg.f16", [0x3c00], 0xbc00],
    ["abs.bf16", [0xbf80], 0x3f80],
    ["min.f16", [0x7e00, 0x3c00], 0x3c00],
    ["max.NaN.f16", [0x7e00, 0x3c00], 0x7fff],
    ["add.bf16", [0x3f80, 0x3b80], 0x3f80],
    ["mul.bf16", [0x3f80, 0x4000], 0x4000],
    ["fma.rn.bf16", [0x3f81, 0x3f81, 0x0000], 0x3f82],
    ["add.f16x2", [0x3c003c00, 0x40003c00], 0x42004000],
    ["fma.rn.bf16x2", [0x3f803f80, 0x40003f80, 0x3f800000], 0x40403f80],
  ]);
});

describe("cvt", () => {
  test.each<[string, string, Typed, number | bigint]>([
    ["cvt.rni.s32.f32", "s32", ["f32", 2.5], 2],
    ["cvt.rni.s32.f32", "s32", ["f32", 3.5], 4],
    ["cvt.rni.s32.f32", "s32", ["f32", -2.5], -2],
    ["cvt.rzi.s32.f32", "s32", ["f32", -2.9], -2],
    ["cvt.rmi.s32.f32", "s32", ["f32", -2.1], -3],
    ["cvt.rpi.s32.f32", "s32", ["f32", 2.1], 3],
    ["cvt.rzi.s32.f32", "s32", ["f32", 1e20], MAX],
    ["cvt.rzi.s32.f32", "s32", ["f32", NAN], 0],
    ["cvt.rzi.u32.f32", "u32", ["f32", -5], 0],
    ["cvt.rzi.u32.f32", "u32", ["f32", INF], 0xffffffff],
    ["cvt.rzi.s64.f64", "s64", ["f64", NAN], -0x8000000000000000n],
    ["cvt.rzi.s64.f64", "s64", ["f64", 1e30], 0x7fffffffffffffffn],
    ["cvt.rzi.u64.f32", "u64", ["f32", -1], 0n],
    ["cvt.rzi.s16.f32", "s16", ["f32", 1e9], 32767],
    ["cvt.rzi.u8.f32", "u8", ["f32", 300], 255],
    ["cvt.rn.f32.s32", "f32", ["s32", 16777217], 16777216],
    ["cvt.rp.f32.s32", "f32", ["s32", 16777217], 16777218],
    ["cvt.rz.f32.u32", "f32", ["u32", 0xffffffff], 4294967040],
    ["cvt.rn.f32.s64", "f32", ["s64", 0x4000004000000001n], 2 ** 62 + 2 ** 39],
    ["cvt.rn.f64.u64", "f64", ["u64", 0xffffffffffffffffn], 2 ** 64],
    ["cvt.rz.f64.u64", "f64", ["u64", 0xffffffffffffffffn], 2 ** 64 - 2048],
    ["cvt.rn.f32.f64", "f32", ["f64", 1 + 2 ** -24], 1],
    ["cvt.rp.f32.f64", "f32", ["f64", 1 + 2 ** -40], 1 + 2 ** -23],
    ["cvt.rz.f32.f64", "f32", ["f64", 1e300], MAX_F32],
    ["cvt.f64.f32", "f64", ["f32", 0.5], 0.5],
    ["cvt.rni.f32.f32", "f32", ["f32", -0.5], -0],
    ["cvt.rmi.f32.f32", "f32", ["f32", -0.5], -1],
    ["cvt.sat.f32.f32", "f32", ["f32", 7], 1],
    ["cvt.ftz.f32.f32", "f32", ["f32", -TINY_F32], -0],
    ["cvt.rn.f16.f32", "f16", ["f32", 65520], 0x7c00],
    ["cvt.rz.f16.f32", "f16", ["f32", 65520], 0x7bff],
    ["cvt.rn.f16.f32", "f16", ["f32", 2 ** -25], 0],
    ["cvt.rn.f16.f32", "f16", ["f32", 3 * 2 ** -26], 1],
    ["cvt.rn.bf16.f32", "bf16", ["f32", 1 + 2 ** -8], 0x3f80],
    ["cvt.rn.bf16.f32", "bf16", ["f32", 1 + 3 * 2 ** -8], 0x3f82],
    ["cvt.rn.relu.bf16.f32", "bf16", ["f32", -3], 0],
    ["cvt.f32.f16", "f32", ["f16", 0x0001], 2 ** -24],
    ["cvt.f32.bf16", "f32", ["bf16", 0xc000], -2],
    ["cvt.rna.tf32.f32", "b32", ["f32", 1 + 2 ** -11], 0x3f802000],
    ["cvt.s32.s8", "s32", ["b16", 0x1ff], -1],
    ["cvt.u32.u16", "u32", ["u16", 0xffff], 0xffff],
    ["cvt.s64.s32", "s64", ["s32", -1], -1n],
    ["cvt.u64.u32", "u64", ["u32", 0xffffffff], 0xffffffffn],
    ["cvt.s32.s64", "s32", ["s64", 0x1ffffffffn], -1],
    ["cvt.sat.s32.s64", "s32", ["s64", 0x1ffffffffn], MAX],
    ["cvt.sat.u8.s32", "u8", ["s32", -5], 0],
    ["cvt.sat.s16.u32", "s16", ["u32", 0xffffffff], 32767],
    ["cvt.sat.u64.s64", "u64", ["s64", -1n], 0n],
  ])("%s -> %s of %s is %s", (operation, out, input, expected) => {
    expect(run(`${operation} d, a;`, out, [input])).toEqual(expected);
  });

  test("two floats make a pair, the first above", () => {
    expect(
      run("cvt.rn.f16x2.f32 d, a, b;", "b32", [
        ["f32", 1],
        ["f32", -2],
      ]),
    ).toBe(0x3c00c000);
    expect(
      run("cvt.rn.bf16x2.f32 d, a, b;", "b32", [
        ["f32", 1],
        ["f32", -2],
      ]),
    ).toBe(0x3f80c000);
  });
});

describe("setp", () => {
  test.each<[string, Typed, Typed, number]>([
    ["setp.lt.f32", ["f32", NAN], ["f32", 1], 0],
    ["setp.ltu.f32", ["f32", NAN], ["f32", 1], 1],
    ["setp.ne.f32", ["f32", NAN], ["f32", 1], 0],
    ["setp.neu.f32", ["f32", NAN], ["f32", NAN], 1],
    ["setp.equ.f32", ["f32", NAN], ["f32", NAN], 1],
    ["setp.eq.f32", ["f32", 0], ["f32", -0], 1],
    ["setp.num.f32", ["f32", NAN], ["f32", 1], 0],
    ["setp.nan.f64", ["f64", NAN], ["f64", 1], 1],
    ["setp.eq.ftz.f32", ["f32", TINY_F32], ["f32", 0], 1],
    ["setp.lt.s32", ["s32", -1], ["s32", 1], 1],
    ["setp.lt.u32", ["u32", -1], ["u32", 1], 0],
    ["setp.lo.u32", ["u32", 0], ["u32", 1], 1],
    ["setp.hs.u32", ["u32", 0], ["u32", 1], 0],
    ["setp.gt.s64", ["s64", -1n], ["s64", 1n], 0],
    ["setp.gt.u64", ["u64", -1n], ["u64", 1n], 1],
    ["setp.lt.s64", ["s64", 0x100000002n], ["s64", 0x100000001n], 0],
    ["setp.lt.s16", ["s16", -1], ["s16", 1], 1],
    ["setp.lt.f16", ["f16", 0xbc00], ["f16", 0x3c00], 1],
    ["setp.geu.bf16", ["bf16", 0x7fff], ["bf16", 0x3f80], 1],
  ])("%s %s %s -> %i", (operation, a, b, expected) => {
    expect(run(`${operation} d, a, b;`, "pred", [a, b])).toBe(expected);
  });

  test("a second predicate is the opposite, and both combine with a third", () => {
    const inputs: Typed[] = [
      ["s32", 1],
      ["s32", 2],
      ["pred", 1],
    ];
    expect(run("setp.lt.and.s32 d, a, b, c;", "pred", inputs)).toBe(1);
    expect(run("setp.lt.and.s32 d, a, b, !c;", "pred", inputs)).toBe(0);
    expect(run("{ .reg .pred q; setp.lt.xor.s32 q|d, a, b, c; }", "pred", inputs)).toBe(1);
    expect(run("set.lt.u32.s32 d, a, b;", "u32", inputs.slice(0, 2))).toBe(0xffffffff);
    expect(run("set.gt.f32.s32 d, b, a;", "f32", inputs.slice(0, 2))).toBe(1);
  });
});
