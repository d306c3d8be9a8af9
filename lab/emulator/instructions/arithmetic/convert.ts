// cvt: between all integer and floating-point types, with rounding, saturation and flushing.

import type { Step, Warp } from "../../machine/warp.ts";
import { decode, encode, formatOf, type HalfType } from "../../numbers/halves.ts";
import {
  F32,
  F64,
  type Rounding,
  roundInteger,
  TF32,
  toF32,
  toFormat,
} from "../../numbers/rounding.ts";
import { bitsOf, isFloat, isSigned, isType } from "../../numbers/types.ts";
import type { Compile, Site, Slot } from "../site.ts";
import { convertBytes } from "./convert-fp8.ts";
import { flush, saturate } from "./floats.ts";

type Whole = (x: number) => number;

const toEven: Whole = (x) => {
  const low = Math.floor(x);
  const rest = x - low;
  if (rest !== 0.5) return Math.round(x);
  const even = low % 2 === 0 ? low : low + 1;
  return even === 0 ? x * 0 : even;
};

const wholes: Readonly<Record<string, Whole>> = {
  rni: toEven,
  rzi: Math.trunc,
  rmi: Math.floor,
  rpi: Math.ceil,
};

interface Range {
  readonly low: number;
  readonly high: number;
}

const rangeOf = (type: string): Range => {
  const bits = bitsOf(type);
  return isSigned(type)
    ? { low: -(2 ** (bits - 1)), high: 2 ** (bits - 1) - 1 }
    : { low: 0, high: 2 ** bits - 1 };
};

/** Reads a float of any type as a number. */
function floatReader(type: string, slot: Slot): (w: Warp, l: number) => number {
  if (type === "f64") return (w, l) => w.f64[slot / 2 + l] as number;
  if (type === "f32") return (w, l) => w.f32[slot + l] as number;
  const number = decode[type as HalfType];
  return (w, l) => number(w.i32[slot + l] as number);
}

/** Reads an integer of up to 32 bits as a number of its type. */
function integerReader(type: string, slot: Slot): (w: Warp, l: number) => number {
  const shift = 32 - bitsOf(type);
  return isSigned(type)
    ? (w, l) => ((w.i32[slot + l] as number) << shift) >> shift
    : (w, l) => ((w.i32[slot + l] as number) << shift) >>> shift;
}

const NAN_F32 = 0x7fffffff;

/** Writes a double, which is exact, as a float of the type. */
function floatWriter(type: string, d: Slot, mode: Rounding, site: Site) {
  const sat = site.has("sat");
  const relu = site.has("relu");
  const ftz = site.has("ftz");
  const shape = (x: number): number => {
    if (sat) return saturate(x);
    return relu && x < 0 ? 0 : x;
  };
  if (type === "f64")
    return (w: Warp, l: number, x: number) => {
      w.f64[d / 2 + l] = shape(x);
    };
  if (type === "f32")
    return (w: Warp, l: number, x: number) => {
      const value = shape(toF32(x, mode));
      if (!Number.isNaN(value)) w.f32[d + l] = ftz ? flush(value) : value;
      else w.i32[d + l] = NAN_F32;
    };
  if (type === "tf32")
    return (w: Warp, l: number, x: number) => {
      const value = shape(toFormat(x, TF32, mode));
      if (!Number.isNaN(value)) w.f32[d + l] = value;
      else w.i32[d + l] = NAN_F32;
    };
  const half = type as HalfType;
  return (w: Warp, l: number, x: number) => {
    w.i32[d + l] = encode(shape(x), half, mode);
  };
}

const modes = ["rn", "rz", "rm", "rp", "rna"] as const;

const cvt: Compile = (site) => {
  const { modifiers } = site.instruction.operation;
  if (modifiers.some((one) => /^e[45]m[23]x2$/.test(one))) return convertBytes(site);
  if (modifiers.some((one) => /^e\dm\d|ue8m0|satfinite|^rs$|scaled/.test(one)))
    return site.fail("this conversion");
  const all = modifiers.filter(isType);
  const to = all[0] ?? site.fail("its type is missing");
  const from = all[1] ?? site.fail("its source type is missing");
  if (to.endsWith("x2")) return pairOf(site, to.slice(0, -2), from);
  const a = site.read(site.operand(1), from);
  const d = site.write(site.operand(0), to);
  const mode = site.one(modes) ?? "rn";
  const whole = wholes[site.one(["rni", "rzi", "rmi", "rpi"]) ?? ""];
  if (isFloat(to)) return toFloat(site, to, from, d, a, mode, whole);
  // A narrow integer fills its register: 16 bits of a 16-bit register, all bits of a wider one.
  const keep = site.bits(site.operand(0), to) === 16 ? 0xffff : -1;
  return isFloat(from)
    ? floatToInteger(site, to, from, d, a, whole ?? Math.trunc, keep)
    : integerToInteger(site, to, from, d, a, keep);
};

/** Two floats into one word, the first above. */
function pairOf(site: Site, to: string, from: string): Step {
  if (from !== "f32" || site.operands.length !== 3) return site.fail("this conversion");
  const high = floatReader(from, site.read(site.operand(1), from));
  const low = floatReader(from, site.read(site.operand(2), from));
  const d = site.write(site.operand(0), "b32");
  const [x, y] = [site.temporary(1), site.temporary(1)];
  const mode = site.one(modes) ?? "rn";
  const writeHigh = floatWriter(to, x, mode, site);
  const writeLow = floatWriter(to, y, mode, site);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      writeHigh(w, l, high(w, l));
      writeLow(w, l, low(w, l));
      w.i32[d + l] = ((w.i32[x + l] as number) << 16) | (w.i32[y + l] as number);
    }
  };
}

function toFloat(
  site: Site,
  to: string,
  from: string,
  d: Slot,
  a: Slot,
  mode: Rounding,
  whole: Whole | undefined,
): Step {
  if (bitsOf(from) === 64 && !isFloat(from)) {
    const format = to === "f64" ? F64 : to === "f32" ? F32 : formatOf(to as HalfType);
    const write = floatWriter(to, d, "rn", site);
    const signed = isSigned(from);
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const value = (signed ? w.s64[a / 2 + l] : w.u64[a / 2 + l]) as bigint;
        write(w, l, roundInteger(value, format, mode));
      }
    };
  }
  const read = isFloat(from) ? floatReader(from, a) : integerReader(from, a);
  const write = floatWriter(to, d, mode, site);
  const ftz = site.has("ftz") && from === "f32";
  const same = to === from && whole === undefined && !site.has("sat") && !ftz;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      let x = read(w, l);
      if (ftz) x = flush(x);
      write(w, l, whole === undefined || same ? x : whole(x));
    }
  };
}

function floatToInteger(
  site: Site,
  to: string,
  from: string,
  d: Slot,
  a: Slot,
  whole: Whole,
  keep: number,
): Step {
  const read = floatReader(from, a);
  const ftz = site.has("ftz") && from === "f32";
  const { low, high } = rangeOf(to);
  if (bitsOf(to) === 64) {
    const top = (1n << (isSigned(to) ? 63n : 64n)) - 1n;
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const x = whole(ftz ? flush(read(w, l)) : read(w, l));
        // For NaN only the top bit is set (PTX ISA 9.0, cvt).
        const value = Number.isNaN(x)
          ? 1n << 63n
          : x >= high
            ? top
            : x <= low
              ? BigInt(low)
              : BigInt(x);
        w.u64[d / 2 + l] = BigInt.asUintN(64, value);
      }
    };
  }
  const missing = from === "f64" ? 2 ** (bitsOf(to) - 1) : 0;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const x = whole(ftz ? flush(read(w, l)) : read(w, l));
      w.i32[d + l] = (Number.isNaN(x) ? missing : Math.max(low, Math.min(high, x))) & keep;
    }
  };
}

function integerToInteger(
  site: Site,
  to: string,
  from: string,
  d: Slot,
  a: Slot,
  keep: number,
): Step {
  const sat = site.has("sat");
  const wide = bitsOf(from) === 64;
  const { low, high } = rangeOf(to);
  const signed = isSigned(from);
  if (bitsOf(to) === 64) {
    const top = (1n << (isSigned(to) ? 63n : 64n)) - 1n;
    if (wide)
      return (w, lanes, n) => {
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          const value = (signed ? w.s64[a / 2 + l] : w.u64[a / 2 + l]) as bigint;
          const clamped = value > top ? top : value < BigInt(low) ? BigInt(low) : value;
          w.u64[d / 2 + l] = BigInt.asUintN(64, sat ? clamped : value);
        }
      };
    const read = integerReader(from, a);
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const value = sat ? Math.max(read(w, l), low) : read(w, l);
        w.i32[d + 2 * l] = value;
        w.i32[d + 2 * l + 1] = value < 0 ? -1 : 0;
      }
    };
  }
  const shift = 32 - bitsOf(to);
  const wrap = isSigned(to)
    ? (v: number) => (v << shift) >> shift
    : (v: number) => (v << shift) >>> shift;
  const clamp = (v: number) => Math.max(low, Math.min(high, v));
  if (!wide) {
    const read = integerReader(from, a);
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        w.i32[d + l] = (sat ? clamp(read(w, l)) : wrap(read(w, l))) & keep;
      }
    };
  }
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const lowWord = w.i32[a + 2 * l] as number;
      const number = sat
        ? Number((signed ? w.s64[a / 2 + l] : w.u64[a / 2 + l]) as bigint)
        : lowWord;
      w.i32[d + l] = (sat ? clamp(number) : wrap(number)) & keep;
    }
  };
}

export const conversions: Readonly<Record<string, Compile>> = { cvt };
