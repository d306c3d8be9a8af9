// Floating-point arithmetic with all rounding modes of PTX. A result is first computed exactly, or as a double that is
// "rounded to odd" (if inexact, the neighbour with an odd last bit). Rounded again to fewer than 52 bits, it gives the
// same as the exact value (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). Where a double is
// not enough (f64 itself), bigint is used.

/** To nearest with ties to even, to zero, down, up, to nearest with ties away from zero. */
export type Rounding = "rn" | "rz" | "rm" | "rp" | "rna";

const f64 = new Float64Array(1);
const words = new Int32Array(f64.buffer);
const f32 = new Float32Array(1);
const bits32 = new Int32Array(f32.buffer);
const MAX_F32 = 3.4028234663852886e38;

/** The next double up (`by` 1) or down (-1); for finite x. */
function neighbour64(x: number, by: 1 | -1): number {
  if (x === 0) return by * Number.MIN_VALUE;
  f64[0] = x;
  const away = x > 0 === by > 0;
  const low = words[0] as number;
  const high = words[1] as number;
  if (away) {
    words[0] = low + 1;
    if (low === -1) words[1] = high + 1;
  } else {
    words[0] = low - 1;
    if (low === 0) words[1] = high - 1;
  }
  return f64[0] as number;
}

/** The same for a float. */
function neighbour32(x: number, by: 1 | -1): number {
  if (x === 0) return by * 2 ** -149;
  f32[0] = x;
  bits32[0] = (bits32[0] as number) + (x > 0 === by > 0 ? 1 : -1);
  return f32[0] as number;
}

/** `near` is the exact value rounded to nearest, `error` the rest of it, of which only the sign matters. */
function toOdd(near: number, error: number): number {
  if (error === 0 || !Number.isFinite(near)) return near;
  f64[0] = near;
  if (((words[0] as number) & 1) !== 0) return near;
  return neighbour64(near, error > 0 ? 1 : -1);
}

/** a + b to odd. */
export function sumToOdd(a: number, b: number): number {
  const sum = a + b;
  const part = sum - a;
  const error = a - (sum - part) + (b - part);
  return error === 0 || Number.isNaN(error) ? sum : toOdd(sum, error);
}

/** `near` rounds the exact value to nearest, `error` has the sign of what is missing. */
function adjust32(near: number, error: number, mode: Rounding): number {
  if (error === 0 || mode === "rn") return near;
  if (!Number.isFinite(near)) {
    const stays = mode === "rp" ? near > 0 : mode === "rm" ? near < 0 : false;
    return stays ? near : Math.sign(near) * MAX_F32;
  }
  const negative = near < 0 || Object.is(near, -0) || (near === 0 && error < 0);
  if (mode === "rz") {
    const tooFar = negative ? error > 0 : error < 0;
    return tooFar ? neighbour32(near, negative ? 1 : -1) : negative && near === 0 ? -0 : near;
  }
  if (mode === "rm") return error < 0 ? neighbour32(near, -1) : near;
  return error > 0 ? neighbour32(near, 1) : near;
}

/** A double that is exact or rounded to odd becomes a float. */
export function toF32(x: number, mode: Rounding): number {
  const near = Math.fround(x);
  return mode === "rn" || Number.isNaN(x) || !Number.isFinite(x)
    ? near
    : adjust32(near, x - near, mode);
}

/** An exact sum of 0 is -0 when rounding down, unless both terms are +0. */
const zeroSum = (a: number, b: number, mode: Rounding): number =>
  mode === "rm" && !(Object.is(a, 0) && Object.is(b, 0)) ? -0 : a + b;

export function addF32(a: number, b: number, mode: Rounding): number {
  const sum = a + b;
  if (sum === 0) return zeroSum(a, b, mode);
  return mode === "rn" ? Math.fround(sum) : toF32(sumToOdd(a, b), mode);
}

/** The product of two floats is exact in a double. */
export const mulF32 = (a: number, b: number, mode: Rounding): number => toF32(a * b, mode);

export function fmaF32(a: number, b: number, c: number, mode: Rounding): number {
  const product = a * b;
  if (product + c === 0) return zeroSum(product, c, mode);
  return toF32(sumToOdd(product, c), mode);
}

export function divF32(a: number, b: number, mode: Rounding): number {
  const near = Math.fround(a / b);
  if (mode === "rn" || Number.isNaN(near) || b === 0 || !Number.isFinite(a) || !Number.isFinite(b))
    return near;
  if (!Number.isFinite(near)) return adjust32(near, -near, mode);
  return adjust32(near, (a - near * b) * Math.sign(b), mode);
}

export function sqrtF32(a: number, mode: Rounding): number {
  const near = Math.fround(Math.sqrt(a));
  return mode === "rn" || !(a > 0) || a === Number.POSITIVE_INFINITY
    ? near
    : adjust32(near, a - near * near, mode);
}

// From here on everything is exact: a finite number is mantissa * 2^exponent with a whole mantissa.

interface Exact {
  readonly mantissa: bigint;
  readonly exponent: number;
}

export interface Format {
  /** Bits of the mantissa, including the hidden one. */
  readonly precision: number;
  /** The exponents of the smallest normal number and of the largest. */
  readonly lowest: number;
  readonly highest: number;
}

export const F64: Format = { precision: 53, lowest: -1022, highest: 1023 };
export const F32: Format = { precision: 24, lowest: -126, highest: 127 };
export const F16: Format = { precision: 11, lowest: -14, highest: 15 };
export const BF16: Format = { precision: 8, lowest: -126, highest: 127 };
/** 10 bits of mantissa behind the hidden one, and the range of f32. */
export const TF32: Format = { precision: 11, lowest: -126, highest: 127 };

/** 2^e for every exponent e of a double. */
const powers = new Float64Array(2098);
for (let e = -1074; e <= 1023; e++) {
  if (e >= -1022) {
    words[0] = 0;
    words[1] = (e + 1023) << 20;
  } else {
    words[0] = e + 1074 < 32 ? 1 << (e + 1074) : 0;
    words[1] = e + 1074 < 32 ? 0 : 1 << (e + 1074 - 32);
  }
  powers[e + 1074] = f64[0] as number;
}
const power = (e: number): number => powers[e + 1074] as number;

function exact(x: number): Exact {
  f64[0] = x;
  const high = words[1] as number;
  const biased = (high >>> 20) & 0x7ff;
  const fraction = (BigInt(high & 0xfffff) << 32n) | BigInt((words[0] as number) >>> 0);
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  return { mantissa: high < 0 ? -mantissa : mantissa, exponent: Math.max(biased, 1) - 1075 };
}

const bitLength = (m: bigint): number => m.toString(2).length;

/** Whether the last place goes up, for a value between two numbers. `half` -1, 0, 1: below, at, above the middle. */
function goesUp(mode: Rounding, negative: boolean, odd: boolean, half: -1 | 0 | 1): boolean {
  switch (mode) {
    case "rn":
      return half > 0 || (half === 0 && odd);
    case "rna":
      return half >= 0;
    case "rz":
      return false;
    case "rm":
      return negative;
    case "rp":
      return !negative;
  }
}

/** mantissa * 2^exponent (plus something smaller than its last place, if `more`) in a format. Not for 0. */
function roundExact(m: bigint, exponent: number, format: Format, mode: Rounding, more = false) {
  const negative = m < 0n;
  let size = negative ? -m : m;
  let place = exponent;
  if (more) {
    // One odd place further down stands for the missing rest.
    size = (size << 1n) | 1n;
    place -= 1;
  }
  const top = place + bitLength(size) - 1;
  const last = Math.max(top, format.lowest) - format.precision + 1;
  if (last > place) {
    const drop = BigInt(last - place);
    const rest = size & ((1n << drop) - 1n);
    size >>= drop;
    place = last;
    if (rest !== 0n) {
      const middle = 1n << (drop - 1n);
      const half = rest > middle ? 1 : rest === middle ? 0 : -1;
      if (goesUp(mode, negative, (size & 1n) === 1n, half)) size += 1n;
    }
  }
  const sign = negative ? -1 : 1;
  if (size === 0n) return sign * 0;
  if (place + bitLength(size) - 1 > format.highest) {
    const infinite =
      mode === "rn" ||
      mode === "rna" ||
      (mode === "rp" && !negative) ||
      (mode === "rm" && negative);
    if (infinite) return sign * Number.POSITIVE_INFINITY;
    return sign * (2 - power(1 - format.precision)) * power(format.highest);
  }
  const zeros = bitLength(size) > 53 ? bitLength(size) - 53 : 0;
  const scale = place + zeros;
  const value = Number(size >> BigInt(zeros));
  // In two steps, if the scale is below the smallest power of two.
  return sign * (scale < -1074 ? value * power(-1074) * power(scale + 1074) : value * power(scale));
}

/** A whole number in a format: for conversions from 64-bit integers. */
export const roundInteger = (m: bigint, format: Format, mode: Rounding): number =>
  m === 0n ? 0 : roundExact(m, 0, format, mode);

/** a * b + c for finite operands, rounded once. */
export function fmaExact(a: number, b: number, c: number, format: Format, mode: Rounding): number {
  const x = exact(a);
  const y = exact(b);
  const z = exact(c);
  const productExponent = x.exponent + y.exponent;
  const low = Math.min(productExponent, z.exponent);
  const sum =
    ((x.mantissa * y.mantissa) << BigInt(productExponent - low)) +
    (z.mantissa << BigInt(z.exponent - low));
  if (sum === 0n) return signedZero(a, b, c, mode);
  return roundExact(sum, low, format, mode);
}

/** The sign of zero if a * b + c is zero. */
function signedZero(a: number, b: number, c: number, mode: Rounding): number {
  const negativeProduct = isNegative(a) !== isNegative(b);
  if (negativeProduct === isNegative(c)) return negativeProduct ? -0 : 0;
  return mode === "rm" ? -0 : 0;
}

const isNegative = (x: number): boolean => x < 0 || Object.is(x, -0);

function divExact(a: number, b: number, format: Format, mode: Rounding): number {
  const x = exact(a);
  const y = exact(b);
  const shift = 2 * format.precision + 60;
  const top = (x.mantissa < 0n ? -x.mantissa : x.mantissa) << BigInt(shift);
  const bottom = y.mantissa < 0n ? -y.mantissa : y.mantissa;
  const quotient = top / bottom;
  const signed = isNegative(a) === isNegative(b) ? quotient : -quotient;
  const more = quotient * bottom !== top;
  return roundExact(signed, x.exponent - y.exponent - shift, format, mode, more);
}

function sqrtExact(a: number, format: Format, mode: Rounding): number {
  let { mantissa, exponent } = exact(a);
  const shift = 130 + (exponent & 1);
  mantissa <<= BigInt(shift);
  exponent -= shift;
  let root = BigInt(Math.floor(Math.sqrt(Number(mantissa))));
  while (root * root > mantissa) root -= 1n + (root * root - mantissa) / (2n * root + 1n);
  for (let step = (mantissa - root * root) / (2n * root + 1n); step > 0n; ) {
    root += step;
    while (root * root > mantissa) root -= 1n;
    step = (mantissa - root * root) / (2n * root + 1n);
  }
  return roundExact(root, exponent / 2, format, mode, root * root !== mantissa);
}

const finite = (...all: readonly number[]): boolean => all.every(Number.isFinite);

export const addF64 = (a: number, b: number, mode: Rounding): number =>
  mode === "rn" || !finite(a, b) ? a + b : fmaExact(a, 1, b, F64, mode);

export const mulF64 = (a: number, b: number, mode: Rounding): number =>
  mode === "rn" || !finite(a, b) || a === 0 || b === 0 ? a * b : mulExact(a, b, mode);

function mulExact(a: number, b: number, mode: Rounding): number {
  const x = exact(a);
  const y = exact(b);
  return roundExact(x.mantissa * y.mantissa, x.exponent + y.exponent, F64, mode);
}

export const divF64 = (a: number, b: number, mode: Rounding): number =>
  mode === "rn" || !finite(a, b) || a === 0 || b === 0 ? a / b : divExact(a, b, F64, mode);

export const sqrtF64 = (a: number, mode: Rounding): number =>
  mode === "rn" || !(a > 0) || a === Number.POSITIVE_INFINITY
    ? Math.sqrt(a)
    : sqrtExact(a, F64, mode);

/** Veltkamp's factor, which splits a double into two halves of 26 bits. */
const SPLIT = 2 ** 27 + 1;
/** Between these, no step of the fast path over- or underflows. */
const QUICK_LOW = 2 ** -400;
const QUICK_HIGH = 2 ** 400;
const quick = (x: number): boolean => {
  const size = Math.abs(x);
  return size > QUICK_LOW && size < QUICK_HIGH;
};

export function fmaF64(a: number, b: number, c: number, mode: Rounding): number {
  // A product of finite numbers counts as finite, even if it overflows a double.
  if (!finite(a, b, c)) return finite(a, b) ? c : a * b + c;
  if (mode !== "rn" || !quick(a) || !quick(b) || !quick(c)) return fmaExact(a, b, c, F64, mode);
  const product = a * b;
  const ah = a * SPLIT - (a * SPLIT - a);
  const bh = b * SPLIT - (b * SPLIT - b);
  const al = a - ah;
  const bl = b - bh;
  const low = al * bl - (product - ah * bh - al * bh - ah * bl);
  // The sum of c, product and low: the two small parts are added to odd, then all are rounded once to nearest.
  const th = c + low;
  const tp = th - c;
  const tl = c - (th - tp) + (low - tp);
  const vh = product + th;
  const vp = vh - product;
  const vl = product - (vh - vp) + (th - vp);
  return vh + sumToOdd(tl, vl);
}

/** Rounds a double that is exact or was rounded to odd to a format of fewer bits. The result is a double. */
export function toFormat(x: number, format: Format, mode: Rounding): number {
  if (x === 0 || !Number.isFinite(x)) return x;
  f64[0] = x;
  const exponent = Math.max((((words[1] as number) >>> 20) & 0x7ff) - 1023, format.lowest);
  const place = power(exponent - format.precision + 1);
  const scaled = x / place;
  const negative = x < 0;
  const size = Math.abs(scaled);
  let whole = Math.floor(size);
  const rest = size - whole;
  if (rest !== 0) {
    const half = rest > 0.5 ? 1 : rest === 0.5 ? 0 : -1;
    if (goesUp(mode, negative, whole % 2 === 1, half)) whole += 1;
  }
  const value = whole * place;
  const largest = (2 - power(1 - format.precision)) * power(format.highest);
  const kept =
    value <= largest
      ? value
      : mode === "rz" || (mode === "rm" && !negative) || (mode === "rp" && negative)
        ? largest
        : Number.POSITIVE_INFINITY;
  return negative ? -kept : kept;
}
