// Integers and bits where it is easy to be wrong: overflow, shifts by the width, division by 0.
import { describe, expect, test } from "vitest";
import { run, type Typed } from "./instruction.ts";
import { check, MAX, MIN, NAN } from "./rows.ts";

describe("integers", () => {
  check([
    ["add.s32", [MAX, 1], MIN],
    ["add.sat.s32", [MAX, 1], MAX],
    ["sub.sat.s32", [MIN, 1], MIN],
    ["add.u16", [0xffff, 2], 1],
    ["sub.s16", [-32768, 1], 32767],
    ["add.s64", [0xffffffffn, 1n], 0x100000000n],
    ["add.u64", [0xffffffffffffffffn, 1n], 0n],
    ["sub.s64", [0n, 1n], -1n],
    ["sub.s64", [0x100000000n, 1n], 0xffffffffn],
    ["sub.s64", [-0x8000000000000000n, 1n], 0x7fffffffffffffffn],
    ["mul.lo.s32", [0x10001, 0x10001], 0x20001],
    ["mul.hi.s32", [MIN, MIN], 0x40000000],
    ["mul.hi.s32", [-1, 1], -1],
    ["mul.hi.u32", [0xffffffff, 0xffffffff], 0xfffffffe],
    ["mul.hi.u16", [0xffff, 0xffff], 0xfffe],
    ["mul.hi.s16", [-32768, 2], -1],
    ["mul.wide.s32", [MIN, MIN], 0x4000000000000000n, "s64"],
    ["mul.wide.u32", [0xffffffff, 0xffffffff], 0xfffffffe00000001n, "u64"],
    ["mul.wide.s16", [-32768, 32767], -1073709056, "s32"],
    ["mul.lo.s64", [0x100000001n, 0x100000001n], 0x200000001n],
    ["mul.hi.s64", [-1n, 1n], -1n],
    ["mul.hi.u64", [0xffffffffffffffffn, 2n], 1n],
    ["mad.lo.s32", [3, 5, -20], -5],
    ["mad.hi.u32", [0x80000000, 4, 5], 7],
    ["mad.lo.u16", [0x100, 0x100, 7], 7],
    ["mul24.lo.s32", [0xffffff, 2], -2],
    ["mul24.hi.u32", [0xffffff, 0xffffff], 0xfffffe00],
    ["div.s32", [-7, 2], -3],
    ["rem.s32", [-7, 2], -1],
    ["div.s32", [MIN, -1], MIN],
    ["div.u32", [7, 0], 0xffffffff],
    ["rem.u32", [7, 0], 7],
    ["div.u64", [7n, 0n], 0xffffffffffffffffn],
    ["div.s64", [-7n, 2n], -3n],
    ["rem.s64", [-7n, 2n], -1n],
    ["min.u32", [0xffffffff, 1], 1],
    ["min.s32", [-1, 1], -1],
    ["max.s16", [-1, 1], 1],
    ["max.u64", [0xffffffffffffffffn, 1n], 0xffffffffffffffffn],
    ["min.s64", [-1n, 1n], -1n],
    ["abs.s32", [MIN], MIN],
    ["neg.s32", [MIN], MIN],
    ["neg.s64", [1n], -1n],
    ["abs.s16", [-5], 5],
    ["sad.u32", [3, 10, 1], 8],
    ["sad.s32", [-3, 10, 1], 14],
    ["add.u16x2", [0x0001ffff, 0x00010001], 0x00020000],
    ["min.s16x2", [0x0001ffff, 0x00000001], 0x0000ffff],
  ]);
});

describe("bits", () => {
  check([
    ["not.b16", [0x00ff], 0xff00],
    ["not.b64", [0n], 0xffffffffffffffffn],
    ["cnot.b32", [0], 1],
    ["popc.b32", [0xf0f0f0f0], 16],
    ["popc.b64", [0xffffffffffffffffn], 64, "u32"],
    ["clz.b32", [0], 32],
    ["clz.b64", [1n], 63, "u32"],
    ["brev.b32", [1], 0x80000000],
    ["brev.b64", [1n], 0x8000000000000000n],
    ["bfind.u32", [0], 0xffffffff],
    ["bfind.s32", [-1], 0xffffffff, "u32"],
    ["bfind.s32", [-2], 0, "u32"],
    ["bfind.shiftamt.u32", [1], 31],
    ["prmt.b32", [0x33221100, 0x77665544, 0x7531], 0x77553311],
    ["prmt.b32", [0x80, 0, 0x8888], 0xffffffff],
  ]);

  const u32 = (value: number): Typed => ["b32", value];
  test.each<[string, string, Typed[], number | bigint]>([
    ["shl.b32 d, a, b;", "b32", [u32(1), ["u32", 31]], 0x80000000],
    ["shl.b32 d, a, b;", "b32", [u32(1), ["u32", 32]], 0],
    [
      "shr.u32 d, a, b;",
      "u32",
      [
        ["u32", 0x80000000],
        ["u32", 31],
      ],
      1,
    ],
    [
      "shr.u32 d, a, b;",
      "u32",
      [
        ["u32", 0x80000000],
        ["u32", 100],
      ],
      0,
    ],
    [
      "shr.s32 d, a, b;",
      "s32",
      [
        ["s32", MIN],
        ["u32", 100],
      ],
      -1,
    ],
    [
      "shr.s16 d, a, b;",
      "s16",
      [
        ["s16", -4],
        ["u32", 1],
      ],
      -2,
    ],
    [
      "shr.u16 d, a, b;",
      "u16",
      [
        ["u16", 0x8000],
        ["u32", 15],
      ],
      1,
    ],
    [
      "shl.b16 d, a, b;",
      "b16",
      [
        ["b16", 1],
        ["u32", 16],
      ],
      0,
    ],
    [
      "shl.b64 d, a, b;",
      "b64",
      [
        ["b64", 3n],
        ["u32", 33],
      ],
      0x600000000n,
    ],
    [
      "shl.b64 d, a, b;",
      "b64",
      [
        ["b64", 3n],
        ["u32", 64],
      ],
      0n,
    ],
    [
      "shr.s64 d, a, b;",
      "s64",
      [
        ["s64", -8n],
        ["u32", 1],
      ],
      -4n,
    ],
    [
      "shr.s64 d, a, b;",
      "s64",
      [
        ["s64", -8n],
        ["u32", 40],
      ],
      -1n,
    ],
    [
      "shr.u64 d, a, b;",
      "u64",
      [
        ["u64", 0x8000000000000000n],
        ["u32", 63],
      ],
      1n,
    ],
    ["shf.l.wrap.b32 d, a, b, c;", "b32", [u32(0x80000000), u32(1), u32(33)], 3],
    ["shf.l.clamp.b32 d, a, b, c;", "b32", [u32(7), u32(1), u32(33)], 7],
    ["shf.r.wrap.b32 d, a, b, c;", "b32", [u32(1), u32(1), u32(1)], 0x80000000],
    ["shf.r.clamp.b32 d, a, b, c;", "b32", [u32(1), u32(9), u32(99)], 9],
    ["bfe.u32 d, a, b, c;", "u32", [u32(0xabcd), u32(4), u32(8)], 0xbc],
    ["bfe.s32 d, a, b, c;", "s32", [u32(0xabcd), u32(12), u32(4)], -6],
    ["bfe.s32 d, a, b, c;", "s32", [u32(0x80000000), u32(28), u32(8)], -8],
    ["bfe.u32 d, a, b, c;", "u32", [u32(0xffffffff), u32(40), u32(8)], 0],
    ["bfe.s32 d, a, b, c;", "s32", [u32(0xffffffff), u32(0), u32(0)], 0],
    ["bfi.b32 d, a, b, c, e;", "b32", [u32(0xf), u32(0), u32(4), u32(2)], 0x30],
    ["bfi.b32 d, a, b, c, e;", "b32", [u32(0xf), u32(5), u32(40), u32(2)], 5],
    ["lop3.b32 d, a, b, c, 0xE8;", "b32", [u32(12), u32(10), u32(9)], 8],
    ["lop3.b32 d, a, b, c, 0x96;", "b32", [u32(12), u32(10), u32(9)], 15],
    ["prmt.b32.f4e d, a, b, c;", "b32", [u32(0x03020100), u32(0x07060504), u32(2)], 0x05040302],
    ["prmt.b32.rc16 d, a, b, c;", "b32", [u32(0x03020100), u32(0), u32(1)], 0x03020302],
    ["dp4a.s32.s32 d, a, b, c;", "s32", [u32(0xff01ff01), u32(0x01010101), u32(10)], 10],
    ["dp4a.u32.s32 d, a, b, c;", "s32", [u32(0xff), u32(0xff), u32(0)], -255],
    ["dp2a.lo.s32.s32 d, a, b, c;", "s32", [u32(0xffff0002), u32(0x00000305), u32(1)], 8],
    ["bmsk.clamp.b32 d, a, b;", "b32", [u32(4), u32(4)], 0xf0],
    [
      "slct.s32.s32 d, a, b, c;",
      "s32",
      [
        ["s32", 1],
        ["s32", 2],
        ["s32", -1],
      ],
      2,
    ],
    [
      "slct.s32.f32 d, a, b, c;",
      "s32",
      [
        ["s32", 1],
        ["s32", 2],
        ["f32", NAN],
      ],
      2,
    ],
    [
      "selp.s64 d, a, b, c;",
      "s64",
      [
        ["s64", 1n],
        ["s64", 2n],
        ["pred", 0],
      ],
      2n,
    ],
    [
      "{ .reg .b32 x; add.cc.u32 x, a, b; addc.u32 d, c, 0; }",
      "u32",
      [u32(0xffffffff), u32(1), u32(5)],
      6,
    ],
    ["{ .reg .b32 x; sub.cc.u32 x, a, b; subc.u32 d, c, 0; }", "u32", [u32(0), u32(1), u32(5)], 4],
    [
      "{ .reg .b32 x; mad.lo.cc.u32 x, a, b, c; madc.hi.u32 d, a, b, 0; }",
      "u32",
      [u32(0xffffffff), u32(1), u32(1)],
      1,
    ],
    ["mov.b64 d, {a, b};", "b64", [u32(1), u32(2)], 0x200000001n],
    ["{ .reg .b32 x; mov.b64 {x, d}, a; }", "b32", [["b64", 0x200000001n]], 2],
    [
      "mov.b32 d, {a, b};",
      "b32",
      [
        ["b16", 1],
        ["b16", 0xffff],
      ],
      0xffff0001,
    ],
  ])("%s %s %s -> %s", (line, out, inputs, expected) => {
    expect(run(line, out, inputs)).toEqual(expected);
  });
});
