import { bits, longs2, type Value, words1, words2, words3 } from "./loops.ts";
import type { Compile, Site, Slot } from "./site.ts";
import { bitsOf, isSigned } from "./types.ts";
import type { Step } from "./warp.ts";

export type Two = (a: number, b: number) => number;
type Big = (a: bigint, b: bigint) => bigint;

/** An operation on two values of up to 32 bits, made to see its type's values and to keep its bits. */
function narrowed(type: string, of: Two): Two {
  switch (type) {
    case "s16":
      return (a, b) => of((a << 16) >> 16, (b << 16) >> 16) & 0xffff;
    case "u16":
    case "b16":
      return (a, b) => of(a & 0xffff, b & 0xffff) & 0xffff;
    case "u32":
      return (a, b) => of(a >>> 0, b >>> 0);
    default:
      return of;
  }
}

const isHalves = (type: string) => type === "s16x2" || type === "u16x2";

/** The operation on each half of a word. */
const inHalves = (type: string, of: Two): Two => {
  const each = narrowed(type.slice(0, 3), of);
  return (a, b) => each(a & 0xffff, b & 0xffff) | (each(a >>> 16, b >>> 16) << 16);
};

/** d = a op b, by the type. */
function binary(site: Site, of: Two, wide: Big | undefined): Step {
  const type = site.type();
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  if (bitsOf(type) === 64) {
    if (wide === undefined) return site.fail("this type");
    return longs2(d, a, b, isSigned(type), wide);
  }
  return words2(d, a, b, isHalves(type) ? inHalves(type, of) : narrowed(type, of));
}

/** 64-bit d = a op b on (low, high) words. */
function pairs(d: Slot, a: Slot, b: Slot, negate: boolean): Step {
  return (w, lanes, n) => {
    const { i32, u32 } = w;
    for (let k = 0; k < n; k++) {
      const at = 2 * (lanes[k] as number);
      const x = u32[a + at] as number;
      const y = u32[b + at] as number;
      const low = negate ? x - y : x + y;
      const high = (
        negate
          ? (i32[a + at + 1] as number) - (i32[b + at + 1] as number)
          : (i32[a + at + 1] as number) + (i32[b + at + 1] as number)
      ) as number;
      i32[d + at] = low;
      i32[d + at + 1] = high + (low > 0xffffffff ? 1 : low < 0 ? -1 : 0);
    }
  };
}

const MAX_S32 = 0x7fffffff;
const clampS32 = (v: number) => Math.max(-MAX_S32 - 1, Math.min(MAX_S32, v));

const add: Compile = (site) => {
  const type = site.type();
  if (site.has("cc")) return carrying(site, "add", false);
  if (type === "s64" || type === "u64")
    return pairs(
      site.write(site.operand(0), type),
      site.read(site.operand(1), type),
      site.read(site.operand(2), type),
      false,
    );
  return binary(
    site,
    site.has("sat") ? (a, b) => clampS32(a + b) : (a, b) => (a + b) | 0,
    undefined,
  );
};

const sub: Compile = (site) => {
  const type = site.type();
  if (site.has("cc")) return carrying(site, "sub", false);
  if (type === "s64" || type === "u64")
    return pairs(
      site.write(site.operand(0), type),
      site.read(site.operand(1), type),
      site.read(site.operand(2), type),
      true,
    );
  return binary(
    site,
    site.has("sat") ? (a, b) => clampS32(a - b) : (a, b) => (a - b) | 0,
    undefined,
  );
};

export const value = (site: Site, index: number, type: string, write = false): Value => ({
  slot: write ? site.write(site.operand(index), type) : site.read(site.operand(index), type),
  bits: bitsOf(type),
  signed: isSigned(type),
});

/** add.cc, addc, sub.cc, subc, mad.cc, madc: the carry flag is a word of its own. */
function carrying(site: Site, what: "add" | "sub" | "mad", takes: boolean): Step {
  const type = site.type();
  const width = bitsOf(type);
  const mask = (1n << BigInt(width)) - 1n;
  const destination = value(site, 0, type, true);
  const sources = [1, 2, ...(what === "mad" ? [3] : [])].map((i) => value(site, i, type));
  const high = site.has("hi");
  const leaves = site.has("cc");
  const carry: Value = { slot: site.carry, bits: 1, signed: false };
  let last = 0n;
  const step = bits(destination, [...sources, carry], (...values) => {
    const [a = 0n, b = 0n, third = 0n] = values;
    const flag = takes ? (values.at(-1) ?? 0n) : 0n;
    if (what === "sub") {
      const exact = (a & mask) - (b & mask) - flag;
      last = exact < 0n ? 1n : 0n;
      return exact;
    }
    const product = what === "mad" ? a * b : 0n;
    const term = what === "mad" ? (high ? product >> BigInt(width) : product) & mask : a & mask;
    const exact = term + ((what === "mad" ? third : b) & mask) + flag;
    last = exact >> BigInt(width);
    return exact;
  });
  const one = new Uint8Array(1);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      one[0] = lanes[k] as number;
      step(w, one, 1);
      if (leaves) w.i32[site.carry + (one[0] as number)] = Number(last);
    }
  };
}

const addc: Compile = (site) => carrying(site, "add", true);
const subc: Compile = (site) => carrying(site, "sub", true);
const madc: Compile = (site) => carrying(site, "mad", true);

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
  if (site.has("cc")) return carrying(site, "mad", false);
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
  const product = narrowed(type, productOf(type, high));
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

/** A quotient by 0 has all bits set, as on the hardware; PTX leaves it open. The remainder is the dividend. */
const div: Compile = (site) =>
  binary(
    site,
    (a, b) => (b === 0 ? -1 : Math.trunc(a / b)),
    (a, b) => (b === 0n ? -1n : a / b),
  );
const rem: Compile = (site) =>
  binary(
    site,
    (a, b) => (b === 0 ? a : a % b),
    (a, b) => (b === 0n ? a : a % b),
  );

const smaller: Big = (a, b) => {
  const first = a < b;
  return first ? a : b;
};
const larger: Big = (a, b) => {
  const first = a > b;
  return first ? a : b;
};
const min: Compile = (site) => binary(site, Math.min, smaller);
const max: Compile = (site) => binary(site, Math.max, larger);

const neg: Compile = (site) => {
  const type = site.type();
  if (bitsOf(type) === 32)
    return words1(
      site.write(site.operand(0), type),
      site.read(site.operand(1), type),
      (x) => -x | 0,
    );
  return bits(value(site, 0, type, true), [value(site, 1, type)], (x = 0n) => -x);
};

const abs: Compile = (site) => {
  const type = site.type();
  return bits(value(site, 0, type, true), [value(site, 1, type)], (x = 0n) => (x < 0n ? -x : x));
};

export const three = (site: Site, type: string): readonly [Slot, Slot, Slot, Slot] => [
  site.write(site.operand(0), type),
  site.read(site.operand(1), type),
  site.read(site.operand(2), type),
  site.read(site.operand(3), type),
];

const sad: Compile = (site) => {
  const type = site.type();
  return bits(
    value(site, 0, type, true),
    [value(site, 1, type), value(site, 2, type), value(site, 3, type)],
    (a = 0n, b = 0n, c = 0n) => c + (a < b ? b - a : a - b),
  );
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

export const integers: Readonly<Record<string, Compile>> = {
  add,
  sub,
  mul,
  mad,
  mul24,
  mad24: mul24,
  div,
  rem,
  min,
  max,
  neg,
  abs,
  sad,
  addc,
  subc,
  madc,
  dp4a: dot,
  dp2a: dot,
};
