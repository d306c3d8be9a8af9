// Floating point: f64, f32, f16, bf16 and pairs of halves. A NaN result has PTX's canonical bits, whatever the operands
// were. The approximate functions (sin, ex2, rsqrt ...) are those of the JavaScript engine in double precision, rounded
// once to the type. They are within the error that PTX allows, but have not the hardware's bits.

import type { Step } from "../../machine/warp.ts";
import { decode, encode, type HalfType } from "../../numbers/halves.ts";
import {
  addF32,
  addF64,
  divF32,
  divF64,
  fmaF32,
  fmaF64,
  mulF32,
  mulF64,
  type Rounding,
  sqrtF32,
  sqrtF64,
  sumToOdd,
} from "../../numbers/rounding.ts";
import { isFloat } from "../../numbers/types.ts";
import type { Compile, Site, Slot } from "../site.ts";
import {
  doubles1,
  doubles2,
  doubles3,
  floats1,
  floats2,
  floats3,
  words1,
  words2,
  words3,
} from "./loops.ts";

export type Fn1 = (a: number) => number;
type Fn2 = (a: number, b: number) => number;
type Fn3 = (a: number, b: number, c: number) => number;

/** Subnormal floats become zeros of their sign. */
export const flush: Fn1 = (x) =>
  Math.abs(x) < 2 ** -126 ? (x < 0 || Object.is(x, -0) ? -0 : 0) : x;
/** Clamps to [0, 1]; NaN becomes 0. */
export const saturate: Fn1 = (x) => (x > 0 ? Math.min(x, 1) : 0);

const roundingOf = (site: Site): Rounding => site.one(["rn", "rz", "rm", "rp", "rna"]) ?? "rn";

/** The implementations of an operation for the types of floats. */
interface Family {
  readonly f32: (mode: Rounding) => Fn1 | Fn2 | Fn3;
  readonly f64: (mode: Rounding) => Fn1 | Fn2 | Fn3;
  /** On the numbers that halves stand for. The result is exact or rounded to odd. */
  readonly half: Fn1 | Fn2 | Fn3;
}

const halfTypes: Readonly<Record<string, HalfType>> = {
  f16: "f16",
  bf16: "bf16",
  f16x2: "f16",
  bf16x2: "bf16",
};

function floatStep(site: Site, arity: 1 | 2 | 3, family: Partial<Family>): Step {
  const type = site.type(site.types.length - 1);
  const mode = roundingOf(site);
  const d = site.write(site.operand(0), type);
  const sources = Array.from({ length: arity }, (_, i) => site.read(site.operand(i + 1), type));
  const [a = 0, b = 0, c = 0] = sources;
  if (type === "f64") {
    const of = family.f64?.(mode) ?? site.fail("this type");
    if (arity === 1) return doubles1(d, a, of as Fn1);
    return arity === 2 ? doubles2(d, a, b, of as Fn2) : doubles3(d, a, b, c, of);
  }
  if (type === "f32") {
    const of = withModifiers(site, family.f32?.(mode) ?? site.fail("this type"));
    if (arity === 1) return floats1(d, a, of as Fn1);
    return arity === 2 ? floats2(d, a, b, of as Fn2) : floats3(d, a, b, c, of);
  }
  const half = halfTypes[type] ?? site.fail("this type");
  const of = halfStep(site, family.half ?? site.fail("this type"), half, mode);
  if (type.endsWith("x2")) return inPairs(d, a, b, c, arity, of);
  if (arity === 1) return words1(d, a, of as Fn1);
  return arity === 2 ? words2(d, a, b, of as Fn2) : words3(d, a, b, c, of);
}

/** Applies .ftz and .sat. */
function withModifiers(site: Site, of: Fn1 | Fn2 | Fn3): Fn3 {
  const whole = of as Fn3;
  const ftz = site.has("ftz");
  const sat = site.has("sat");
  if (!ftz && !sat) return whole;
  return (a, b, c) => {
    const value = ftz ? flush(whole(flush(a), flush(b), flush(c))) : whole(a, b, c);
    return sat ? saturate(value) : value;
  };
}

function halfStep(site: Site, of: Fn1 | Fn2 | Fn3, type: HalfType, mode: Rounding): Fn3 {
  const whole = of as Fn3;
  const number = decode[type];
  const sat = site.has("sat");
  const relu = site.has("relu");
  const ftz = site.has("ftz") && type === "f16";
  const small = (x: number) => (ftz && Math.abs(x) < 2 ** -14 ? x * 0 : x);
  return (a, b, c) => {
    let value = whole(small(number(a)), small(number(b)), small(number(c)));
    if (sat) value = saturate(value);
    if (relu) value = Number.isNaN(value) ? value : Math.max(value, 0);
    return encode(small(value), type, mode);
  };
}

function inPairs(d: Slot, a: Slot, b: Slot, c: Slot, arity: number, of: Fn3): Step {
  const both: Fn3 = (x, y, z) =>
    of(x & 0xffff, y & 0xffff, z & 0xffff) | (of(x >>> 16, y >>> 16, z >>> 16) << 16);
  if (arity === 1) return words1(d, a, both as unknown as Fn1);
  return arity === 2 ? words2(d, a, b, both as unknown as Fn2) : words3(d, a, b, c, both);
}

const exactSum: Fn2 = (a, b) => (a + b === 0 ? a + b : sumToOdd(a, b));
const exactFma: Fn3 = (a, b, c) => (a * b + c === 0 ? a * b + c : sumToOdd(a * b, c));

const add: Family = {
  f32: (mode) =>
    mode === "rn" ? (a: number, b: number) => a + b : (a: number, b: number) => addF32(a, b, mode),
  f64: (mode) => (a: number, b: number) => addF64(a, b, mode),
  half: exactSum,
};
const sub: Family = {
  f32: (mode) =>
    mode === "rn" ? (a: number, b: number) => a - b : (a: number, b: number) => addF32(a, -b, mode),
  f64: (mode) => (a: number, b: number) => addF64(a, -b, mode),
  half: (a: number, b: number) => exactSum(a, -b),
};
const mul: Family = {
  f32: (mode) =>
    mode === "rn" ? (a: number, b: number) => a * b : (a: number, b: number) => mulF32(a, b, mode),
  f64: (mode) => (a: number, b: number) => mulF64(a, b, mode),
  half: (a: number, b: number) => a * b,
};
const fma: Family = {
  f32: (mode) => (a: number, b: number, c: number) => fmaF32(a, b, c, mode),
  f64: (mode) => (a: number, b: number, c: number) => fmaF64(a, b, c, mode),
  half: exactFma,
};
const div: Partial<Family> = {
  f32: (mode) => (a: number, b: number) => divF32(a, b, mode),
  f64: (mode) => (a: number, b: number) => divF64(a, b, mode),
};
const rcp: Partial<Family> = {
  f32: (mode) => (a: number) => divF32(1, a, mode),
  f64: (mode) => (a: number) => divF64(1, a, mode),
};
const sqrt: Partial<Family> = {
  f32: (mode) => (a: number) => sqrtF32(a, mode),
  f64: (mode) => (a: number) => sqrtF64(a, mode),
};

/** Computed in double precision, rounded to the type. */
const approximate = (of: Fn1): Family => ({ f32: () => of, f64: () => of, half: of });

const smaller = (a: number, b: number): number => {
  if (Number.isNaN(a)) return b;
  if (Number.isNaN(b)) return a;
  return Math.min(a, b);
};
const larger = (a: number, b: number): number => {
  if (Number.isNaN(a)) return b;
  if (Number.isNaN(b)) return a;
  return Math.max(a, b);
};

/** If one of two values is NaN, the other is the result; with .NaN the result is NaN. */
const choice =
  (plain: Fn2, strict: Fn2): Compile =>
  (site) => {
    const chosen = site.has("NaN") ? strict : plain;
    const of: Fn2 = site.has("xorsign")
      ? (a, b) => {
          const size = Math.abs(chosen(Math.abs(a), Math.abs(b)));
          return signOf(a) !== signOf(b) ? -size : size;
        }
      : chosen;
    const arity = site.operands.length === 4 ? 3 : 2;
    const both: Fn2 | Fn3 = arity === 2 ? of : (a: number, b: number, c: number) => of(of(a, b), c);
    return floatStep(site, arity, { f32: () => both, f64: () => both, half: both });
  };

const signOf = (x: number): boolean => x < 0 || Object.is(x, -0);

/** Negation and absolute value: change only the sign bit, also of NaN. */
function onBits(site: Site, word: (x: number) => number): Step {
  const type = site.type();
  if (type === "f32") {
    const step = words1(site.write(site.operand(0), type), site.read(site.operand(1), type), word);
    return site.has("ftz")
      ? floatStep(site, 1, approximate(word(-1) < 0 ? (x) => -x : Math.abs))
      : step;
  }
  if (type === "f64") {
    const d = site.write(site.operand(0), type);
    const a = site.read(site.operand(1), type);
    return (w, lanes, n) => {
      for (let k = 0; k < n; k++) {
        const at = 2 * (lanes[k] as number);
        w.i32[d + at] = w.i32[a + at] as number;
        w.i32[d + at + 1] = word(w.i32[a + at + 1] as number);
      }
    };
  }
  return site.fail("this type");
}

const SIGN = 0x80000000;

function halfSign(site: Site, word: (x: number, signs: number) => number): Step {
  const type = site.type();
  const signs = type.endsWith("x2") ? 0x80008000 : 0x8000;
  return words1(site.write(site.operand(0), type), site.read(site.operand(1), type), (x) =>
    word(x, signs),
  );
}

const neg: Compile = (site) =>
  site.type() in halfTypes
    ? halfSign(site, (x, signs) => x ^ signs)
    : site.has("ftz")
      ? floatStep(site, 1, { f32: () => (x: number) => -x })
      : onBits(site, (x) => x ^ SIGN);
const abs: Compile = (site) =>
  site.type() in halfTypes
    ? halfSign(site, (x, signs) => x & ~signs)
    : site.has("ftz")
      ? floatStep(site, 1, { f32: () => Math.abs })
      : onBits(site, (x) => x & ~SIGN);

const copysign: Compile = (site) => {
  const type = site.type();
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  if (type === "f32") return words2(d, a, b, (sign, x) => (x & ~SIGN) | (sign & SIGN));
  return doubles2(d, a, b, (sign, x) => (signOf(sign) ? -Math.abs(x) : Math.abs(x)));
};

const testp: Compile = (site) => {
  const type = site.type();
  const kind = site.one(["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
  const lowest = type === "f64" ? 2 ** -1022 : 2 ** -126;
  const tests: Record<string, (x: number) => boolean> = {
    finite: Number.isFinite,
    infinite: (x) => Math.abs(x) === Number.POSITIVE_INFINITY,
    number: (x) => !Number.isNaN(x),
    notanumber: (x) => Number.isNaN(x),
    normal: (x) => Number.isFinite(x) && Math.abs(x) >= lowest,
    subnormal: (x) => x !== 0 && Math.abs(x) < lowest,
  };
  const test = tests[kind ?? ""] ?? site.fail("this test");
  const d = site.write(site.operand(0), "pred");
  const a = site.read(site.operand(1), type);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      w.i32[d + l] = Number(test((type === "f64" ? w.f64[a / 2 + l] : w.f32[a + l]) as number));
    }
  };
};

const of =
  (arity: 1 | 2 | 3, family: Partial<Family>): Compile =>
  (site) =>
    floatStep(site, arity, family);

/** div.approx and div.full: the quotient in double precision, rounded. */
const quotient: Compile = (site) =>
  site.has("approx") || site.has("full")
    ? floatStep(site, 2, { f32: () => (a: number, b: number) => a / b })
    : floatStep(site, 2, div);

/** In V8, 2 ** x is not exact for integers x whose result is subnormal; a product of two powers is. */
const exp2: Fn1 = (x) => (x < -1000 ? 2 ** (x + 60) * 2 ** -60 : 2 ** x);

const sine = approximate(Math.sin);

export const floats: Readonly<Record<string, Compile>> = {
  add: of(2, add),
  sub: of(2, sub),
  mul: of(2, mul),
  fma: of(3, fma),
  mad: of(3, fma),
  div: quotient,
  rcp: of(1, rcp),
  sqrt: of(1, sqrt),
  rsqrt: of(
    1,
    approximate((x) => 1 / Math.sqrt(x)),
  ),
  sin: of(1, sine),
  cos: of(1, approximate(Math.cos)),
  lg2: of(1, approximate(Math.log2)),
  ex2: of(1, approximate(exp2)),
  tanh: of(1, approximate(Math.tanh)),
  min: choice(smaller, Math.min),
  max: choice(larger, Math.max),
  neg,
  abs,
  copysign,
  testp,
};

/** Does the instruction compute with floats? */
export const computesFloats = (site: Site): boolean => isFloat(site.types.at(-1) ?? "");
