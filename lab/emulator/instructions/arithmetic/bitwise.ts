// Logic, shifts and bit fields.
import { popcount } from "../../numbers/popcount.ts";
import { bitsOf, isSigned } from "../../numbers/types.ts";
import type { Compile } from "../site.ts";
import { type Two, three, value } from "./integer-operands.ts";
import { bits, words1, words2, words3, words4 } from "./loops.ts";

const logic =
  (of: Two): Compile =>
  (site) => {
    const type = site.type();
    const d = site.write(site.operand(0), type);
    const a = site.read(site.operand(1), type);
    const b = site.read(site.operand(2), type);
    if (bitsOf(type) !== 64) return words2(d, a, b, of);
    return (w, lanes, n) => {
      const { i32 } = w;
      for (let k = 0; k < n; k++) {
        const at = 2 * (lanes[k] as number);
        i32[d + at] = of(i32[a + at] as number, i32[b + at] as number);
        i32[d + at + 1] = of(i32[a + at + 1] as number, i32[b + at + 1] as number);
      }
    };
  };

const not: Compile = (site) => {
  const type = site.type();
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  switch (bitsOf(type)) {
    case 1:
      return words1(d, a, (x) => x ^ 1);
    case 16:
      return words1(d, a, (x) => ~x & 0xffff);
    case 32:
      return words1(d, a, (x) => ~x);
    default:
      return bits(value(site, 0, type, true), [value(site, 1, type)], (x = 0n) => ~x);
  }
};

const cnot: Compile = (site) => {
  const type = site.type();
  return bits(value(site, 0, type, true), [value(site, 1, type)], (x = 0n) => (x === 0n ? 1n : 0n));
};

/** Shifts by the width or more shift everything out. */
const shl: Compile = (site) => {
  const type = site.type();
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const by = site.read(site.operand(2), "u32");
  if (bitsOf(type) === 32) return words2(d, a, by, (x, s) => (s >>> 0 > 31 ? 0 : x << s));
  if (bitsOf(type) === 16)
    return words2(d, a, by, (x, s) => (s >>> 0 > 15 ? 0 : (x << s) & 0xffff));
  return (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const s = (i32[by + l] as number) >>> 0;
      const low = i32[a + 2 * l] as number;
      const high = i32[a + 2 * l + 1] as number;
      i32[d + 2 * l] = s < 32 ? low << s : 0;
      i32[d + 2 * l + 1] =
        s === 0 ? high : s < 32 ? (high << s) | (low >>> (32 - s)) : s < 64 ? low << (s - 32) : 0;
    }
  };
};

const shr: Compile = (site) => {
  const type = site.type();
  const signed = isSigned(type);
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const by = site.read(site.operand(2), "u32");
  if (bitsOf(type) === 32)
    return words2(
      d,
      a,
      by,
      signed ? (x, s) => x >> (s >>> 0 > 31 ? 31 : s) : (x, s) => (s >>> 0 > 31 ? 0 : x >>> s),
    );
  if (bitsOf(type) === 16)
    return words2(
      d,
      a,
      by,
      signed
        ? (x, s) => (((x << 16) >> 16) >> (s >>> 0 > 15 ? 15 : s)) & 0xffff
        : (x, s) => (s >>> 0 > 15 ? 0 : (x & 0xffff) >>> s),
    );
  return (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const s = (i32[by + l] as number) >>> 0;
      const low = i32[a + 2 * l] as number;
      const high = i32[a + 2 * l + 1] as number;
      const sign = signed ? high >> 31 : 0;
      i32[d + 2 * l + 1] = s < 32 ? (signed ? high >> s : high >>> s) : sign;
      i32[d + 2 * l] =
        s === 0
          ? low
          : s < 32
            ? (low >>> s) | (high << (32 - s))
            : s < 64
              ? signed
                ? high >> (s - 32)
                : high >>> (s - 32)
              : sign;
    }
  };
};

/** Funnel shift of the 64 bits (b, a). */
const shf: Compile = (site) => {
  const [d, a, b, c] = three(site, "b32");
  const clamp = site.has("clamp");
  const amount = (s: number) => (clamp ? Math.min(s >>> 0, 32) : s & 31);
  return site.has("l")
    ? words3(d, a, b, c, (low, high, s) => {
        const by = amount(s);
        return by === 0 ? high : by === 32 ? low : (high << by) | (low >>> (32 - by));
      })
    : words3(d, a, b, c, (low, high, s) => {
        const by = amount(s);
        return by === 0 ? low : by === 32 ? high : (low >>> by) | (high << (32 - by));
      });
};

const bfe: Compile = (site) => {
  const type = site.type();
  const width = bitsOf(type);
  const signed = isSigned(type);
  return bits(
    value(site, 0, type, true),
    [value(site, 1, type), value(site, 2, "u32"), value(site, 3, "u32")],
    (a = 0n, position = 0n, length = 0n) => {
      const from = position & 0xffn;
      const count = length & 0xffn;
      if (count === 0n) return 0n;
      // Bits beyond the value repeat its sign, or are 0. A shift of a bigint does the same.
      const field = a >> from;
      return signed
        ? BigInt.asIntN(Number(count), fieldSign(field, from, count, width, a))
        : BigInt.asUintN(Number(count), field);
    },
  );
};

/** The sign of a field is its top bit; if the field reaches beyond the value, the value's top bit. */
const fieldSign = (field: bigint, from: bigint, count: bigint, width: number, a: bigint): bigint =>
  from + count > BigInt(width) && a < 0n ? field | (-1n << count) : field;

const bfi: Compile = (site) => {
  const type = site.type();
  const width = BigInt(bitsOf(type));
  return bits(
    value(site, 0, type, true),
    [value(site, 1, type), value(site, 2, type), value(site, 3, "u32"), value(site, 4, "u32")],
    (a = 0n, b = 0n, position = 0n, length = 0n) => {
      const from = position & 0xffn;
      const count = length & 0xffn;
      if (from >= width) return b;
      const mask = ((1n << count) - 1n) << from;
      return (b & ~mask) | ((a << from) & mask);
    },
  );
};

const bfind: Compile = (site) => {
  const type = site.type();
  const shift = site.has("shiftamt");
  const width = BigInt(bitsOf(type));
  return bits(value(site, 0, "u32", true), [value(site, 1, type)], (a = 0n) => {
    const value = a < 0n ? ~a : a;
    if (value === 0n) return 0xffffffffn;
    const top = BigInt(value.toString(2).length - 1);
    return shift ? width - 1n - top : top;
  });
};

const brev: Compile = (site) => {
  const type = site.type();
  const width = bitsOf(type);
  return bits(value(site, 0, type, true), [value(site, 1, type)], (a = 0n) =>
    BigInt(`0b${[...a.toString(2).padStart(width, "0")].reverse().join("")}`),
  );
};

const clz: Compile = (site) => {
  const type = site.type();
  const d = site.write(site.operand(0), "u32");
  const a = site.read(site.operand(1), type);
  if (bitsOf(type) === 32) return words1(d, a, Math.clz32);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const high = Math.clz32(w.i32[a + 2 * l + 1] as number);
      w.i32[d + l] = high < 32 ? high : 32 + Math.clz32(w.i32[a + 2 * l] as number);
    }
  };
};

const popc: Compile = (site) => {
  const type = site.type();
  const d = site.write(site.operand(0), "u32");
  const a = site.read(site.operand(1), type);
  if (bitsOf(type) === 32) return words1(d, a, popcount);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      w.i32[d + l] =
        popcount(w.i32[a + 2 * l] as number) + popcount(w.i32[a + 2 * l + 1] as number);
    }
  };
};

const byteOf = (a: number, b: number, index: number): number =>
  ((index < 4 ? a : b) >>> (8 * (index & 3))) & 0xff;

/** For each mode, which byte goes to which place, by the low two bits of the selector. */
const permutations: Readonly<Record<string, readonly (readonly number[])[]>> = {
  f4e: [
    [0, 1, 2, 3],
    [1, 2, 3, 4],
    [2, 3, 4, 5],
    [3, 4, 5, 6],
  ],
  b4e: [
    [0, 7, 6, 5],
    [1, 0, 7, 6],
    [2, 1, 0, 7],
    [3, 2, 1, 0],
  ],
  rc8: [
    [0, 0, 0, 0],
    [1, 1, 1, 1],
    [2, 2, 2, 2],
    [3, 3, 3, 3],
  ],
  ecl: [
    [0, 1, 2, 3],
    [1, 1, 2, 3],
    [2, 2, 2, 3],
    [3, 3, 3, 3],
  ],
  ecr: [
    [0, 0, 0, 0],
    [0, 1, 1, 1],
    [0, 1, 2, 2],
    [0, 1, 2, 3],
  ],
  rc16: [
    [0, 1, 0, 1],
    [2, 3, 2, 3],
    [0, 1, 0, 1],
    [2, 3, 2, 3],
  ],
};

const prmt: Compile = (site) => {
  const [d, a, b, c] = three(site, "b32");
  const mode = site.one(Object.keys(permutations));
  const table = mode === undefined ? undefined : permutations[mode];
  if (table !== undefined)
    return words3(d, a, b, c, (x, y, selector) => {
      const places = table[selector & 3] as readonly number[];
      return places.reduce((word, from, i) => word | (byteOf(x, y, from) << (8 * i)), 0);
    });
  return words3(d, a, b, c, (x, y, selector) => {
    let word = 0;
    for (let i = 0; i < 4; i++) {
      const pick = (selector >>> (4 * i)) & 15;
      const byte = byteOf(x, y, pick & 7);
      word |= (pick & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
    }
    return word;
  });
};

const lop3: Compile = (site) => {
  if (site.has("or") || site.has("and")) return site.fail("a predicate from lop3");
  const [d, a, b, c] = three(site, "b32");
  const operand = site.operand(4);
  const table = operand.kind === "immediate" ? Number(operand.text) : Number.NaN;
  if (!(table >= 0 && table <= 255)) return site.fail("a table that is no number of 0 to 255");
  return words3(d, a, b, c, (x, y, z) => {
    let word = 0;
    for (let row = 0; row < 8; row++)
      if ((table >> row) & 1) word |= (row & 4 ? x : ~x) & (row & 2 ? y : ~y) & (row & 1 ? z : ~z);
    return word;
  });
};

const bmsk: Compile = (site) => {
  const clamp = site.has("clamp");
  return bits(
    value(site, 0, "b32", true),
    [value(site, 1, "u32"), value(site, 2, "u32")],
    (position = 0n, length = 0n) => {
      const from = clamp ? position : position & 31n;
      const count = clamp ? (length > 32n ? 32n : length) : length & 31n;
      return from > 31n ? 0n : ((1n << count) - 1n) << from;
    },
  );
};

const fns: Compile = (site) => {
  const slots = three(site, "b32");
  const [d, a, b, c] = slots;
  // The |offset|-th set bit from `base` up (or down).
  return words4(d, [a, b, c, c], (mask, base, offset) => {
    const step = offset < 0 ? -1 : 1;
    let left = Math.abs(offset);
    for (let at = base; at >= 0 && at < 32; at += step) {
      if (((mask >>> at) & 1) === 0) {
        if (offset === 0) return -1;
        continue;
      }
      if (left <= 1) return at;
      left -= 1;
    }
    return -1;
  });
};

export const bitwise: Readonly<Record<string, Compile>> = {
  and: logic((a, b) => a & b),
  or: logic((a, b) => a | b),
  xor: logic((a, b) => a ^ b),
  not,
  cnot,
  shl,
  shr,
  shf,
  bfe,
  bfi,
  bfind,
  brev,
  clz,
  popc,
  prmt,
  lop3,
  bmsk,
  fns,
};
