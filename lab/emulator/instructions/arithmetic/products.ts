// Products of integers, and sums with a product in them.

import type { Step } from "../../machine/warp.ts";
import { bitsOf, isSigned } from "../../numbers/types.ts";
import type { Compile, Site, Slot } from "../site.ts";
import { addWithCarry } from "./carries.ts";
import { binary, narrow, type Two, three, value } from "./integer-operands.ts";
import { bits, words2, words3 } from "./loops.ts";

/** The upper word of a product of two words. */
function highU32(a: number, b: number): number {
  const al = a & 0xffff;
  const ah = a >>> 16;
  const bl = b & 0xffff;
  const bh = b >>> 16;
  const middle = ah * bl + ((al * bl) >>> 16);
  const other = al * bh + (middle & 0xffff);
  return (ah * bh + Math.floor(middle / 65536) + Math.floor(other / 65536)) | 0;
}

const highS32: Two = (a, b) => (highU32(a, b) - (a < 0 ? b : 0) - (b < 0 ? a : 0)) | 0;

function productOf(type: string, high: boolean): Two {
  if (type === "s16" || type === "u16")
    return high ? (a, b) => (a * b) >> 16 : (a, b) => Math.imul(a, b);
  if (!high) return Math.imul;
  return type === "s32" ? highS32 : highU32;
}

const mul: Compile = (site) => {
  const type = site.type();
  if (site.has("wide")) return wideProduct(site, undefined);
  const high = site.has("hi");
  return binary(site, productOf(type, high), (a, b) => (high ? (a * b) >> 64n : a * b));
};

/** mul.wide, mad.wide: twice the bits of the operands. */
function wideProduct(site: Site, addend: number | undefined): Step {
  const type = site.type();
  const signed = isSigned(type);
  const double = `${signed ? "s" : "u"}${2 * bitsOf(type)}`;
  const d = site.write(site.operand(0), double);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  const c = addend === undefined ? undefined : site.read(site.operand(addend), double);
  if (bitsOf(type) === 16) {
    const product: Two = signed
      ? (x, y) => ((x << 16) >> 16) * ((y << 16) >> 16)
      : (x, y) => Math.imul(x & 0xffff, y & 0xffff);
    return c === undefined
      ? words2(d, a, b, product)
      : words3(d, a, b, c, (x, y, z) => product(x, y) + z);
  }
  if (bitsOf(type) !== 32) return site.fail("this width");
  return (w, lanes, n) => {
    const { i32, u32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const x = i32[a + l] as number;
      const y = i32[b + l] as number;
      let low = Math.imul(x, y) >>> 0;
      let high = signed ? highS32(x, y) : highU32(x, y);
      if (c !== undefined) {
        low += u32[c + 2 * l] as number;
        high += (i32[c + 2 * l + 1] as number) + (low > 0xffffffff ? 1 : 0);
      }
      i32[d + 2 * l] = low;
      i32[d + 2 * l + 1] = high;
    }
  };
}

const mad: Compile = (site) => {
  const type = site.type();
  if (site.has("cc")) return addWithCarry(site, "mad", false);
  if (site.has("wide")) return wideProduct(site, 3);
  const high = site.has("hi");
  if (bitsOf(type) === 64)
    return bits(
      value(site, 0, type, true),
      [value(site, 1, type), value(site, 2, type), value(site, 3, type)],
      (a = 0n, b = 0n, c = 0n) => (high ? (a * b) >> 64n : a * b) + c,
    );
  if (site.has("sat")) return site.fail("saturation");
  const d = site.write(site.operand(0), type);
  const [a, b, c] = [1, 2, 3].map((i) => site.read(site.operand(i), type)) as [Slot, Slot, Slot];
  const product = narrow(type, productOf(type, high));
  const keep = bitsOf(type) === 16 ? 0xffff : -1;
  return words3(d, a, b, c, (x, y, z) => (product(x, y) + z) & keep);
};

/** The lower 48 or upper 32 bits of products of 24-bit values. */
const mul24: Compile = (site) => {
  const type = site.type();
  const high = site.has("hi");
  const cut = isSigned(type) ? (v: number) => (v << 8) >> 8 : (v: number) => v & 0xffffff;
  const of: Two = (a, b) => {
    const product = BigInt(cut(a)) * BigInt(cut(b));
    return Number(BigInt.asIntN(32, high ? product >> 16n : product));
  };
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  if (site.instruction.operation.opcode === "mul24") return words2(d, a, b, of);
  return words3(d, a, b, site.read(site.operand(3), type), (x, y, z) => of(x, y) + z);
};

/** Sum of products of 4 bytes, or of 2 halves and 2 bytes. */
const dot: Compile = (site) => {
  const [d, a, b, c] = three(site, "b32");
  const [first, second] = [site.type(0), site.type(1)];
  const part = (word: number, width: number, index: number, type: string): number => {
    const value = word >>> (width * index);
    return isSigned(type) ? (value << (32 - width)) >> (32 - width) : value & (2 ** width - 1);
  };
  if (site.instruction.operation.opcode === "dp4a")
    return words3(d, a, b, c, (x, y, z) => {
      let sum = z;
      for (let i = 0; i < 4; i++) sum += part(x, 8, i, first) * part(y, 8, i, second);
      return sum;
    });
  const from = site.has("hi") ? 2 : 0;
  return words3(
    d,
    a,
    b,
    c,
    (x, y, z) =>
      z +
      part(x, 16, 0, first) * part(y, 8, from, second) +
      part(x, 16, 1, first) * part(y, 8, from + 1, second),
  );
};

export const products: Readonly<Record<string, Compile>> = {
  mul,
  mad,
  mul24,
  mad24: mul24,
  dp4a: dot,
  dp2a: dot,
};
