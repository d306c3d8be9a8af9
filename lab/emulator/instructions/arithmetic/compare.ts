// setp, set, selp, slct.

import type { Step, Warp } from "../../machine/warp.ts";
import { decode, type HalfType } from "../../numbers/halves.ts";
import { bitsOf, isFloat, isSigned, wordsOf } from "../../numbers/types.ts";
import { copy } from "../moves.ts";
import type { Compile, Site, Slot } from "../site.ts";
import { flush } from "./floats.ts";

type Test = (a: number, b: number) => boolean;

const ordered: Readonly<Record<string, Test>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a < b || a > b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

/** Comparisons that are true also if one of the two is NaN. */
const unordered: Readonly<Record<string, Test>> = {
  equ: (a, b) => !(a < b || a > b),
  neu: (a, b) => a !== b,
  ltu: (a, b) => !(a >= b),
  leu: (a, b) => !(a > b),
  gtu: (a, b) => !(a <= b),
  geu: (a, b) => !(a < b),
  num: (a, b) => !Number.isNaN(a) && !Number.isNaN(b),
  nan: (a, b) => Number.isNaN(a) || Number.isNaN(b),
};

const unsigned: Readonly<Record<string, string>> = { lo: "lt", ls: "le", hi: "gt", hs: "ge" };

/** Tests lane values of the type at two slots. */
function tester(site: Site, type: string, a: Slot, b: Slot): (w: Warp, l: number) => boolean {
  const name = site.one([
    ...Object.keys(ordered),
    ...Object.keys(unordered),
    ...Object.keys(unsigned),
  ]);
  const test = ordered[unsigned[name ?? ""] ?? name ?? ""] ?? unordered[name ?? ""];
  if (test === undefined) return site.fail("its comparison is missing");
  if (type === "f32")
    return site.has("ftz")
      ? (w, l) => test(flush(w.f32[a + l] as number), flush(w.f32[b + l] as number))
      : (w, l) => test(w.f32[a + l] as number, w.f32[b + l] as number);
  if (type === "f64") return (w, l) => test(w.f64[a / 2 + l] as number, w.f64[b / 2 + l] as number);
  if (isFloat(type)) {
    const number = decode[type as HalfType] ?? site.fail("this type");
    return (w, l) => test(number(w.i32[a + l] as number), number(w.i32[b + l] as number));
  }
  const signed = isSigned(type);
  switch (bitsOf(type)) {
    case 16:
      return signed
        ? (w, l) =>
            test(((w.i32[a + l] as number) << 16) >> 16, ((w.i32[b + l] as number) << 16) >> 16)
        : (w, l) => test((w.i32[a + l] as number) & 0xffff, (w.i32[b + l] as number) & 0xffff);
    case 32:
      return signed
        ? (w, l) => test(w.i32[a + l] as number, w.i32[b + l] as number)
        : (w, l) => test(w.u32[a + l] as number, w.u32[b + l] as number);
    case 64:
      // The upper words decide, unless they are equal.
      return (w, l) => {
        const high = signed ? w.i32 : w.u32;
        const x = high[a + 2 * l + 1] as number;
        const y = high[b + 2 * l + 1] as number;
        return x === y ? test(w.u32[a + 2 * l] as number, w.u32[b + 2 * l] as number) : test(x, y);
      };
    default:
      return site.fail("this type");
  }
}

/** The source type is the last one, that of the comparison. */
const sourceType = (site: Site): string => site.type(site.types.length - 1);

type Combine = (test: boolean, other: boolean) => boolean;
const combinations: Readonly<Record<string, Combine>> = {
  and: (a, b) => a && b,
  or: (a, b) => a || b,
  xor: (a, b) => a !== b,
};

const setp: Compile = (site) => {
  const type = sourceType(site);
  const to = site.operand(0);
  if (type.endsWith("x2")) return setpHalves(site, type);
  const p = site.write(to.kind === "pair" ? to.first : to, "pred");
  const q = to.kind === "pair" ? site.write(to.second, "pred") : undefined;
  const test = tester(
    site,
    type,
    site.read(site.operand(1), type),
    site.read(site.operand(2), type),
  );
  const combine = combinations[site.one(["and", "or", "xor"]) ?? ""];
  const c = combine === undefined ? undefined : site.read(site.operand(3), "pred");
  return (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const holds = test(w, l);
      if (c === undefined || combine === undefined) {
        i32[p + l] = holds ? 1 : 0;
        if (q !== undefined) i32[q + l] = holds ? 0 : 1;
      } else {
        const other = i32[c + l] !== 0;
        i32[p + l] = combine(holds, other) ? 1 : 0;
        if (q !== undefined) i32[q + l] = combine(!holds, other) ? 1 : 0;
      }
    }
  };
};

/** Two predicates, for the lower and the upper halves. */
function setpHalves(site: Site, type: string): Step {
  const to = site.operand(0);
  if (to.kind !== "pair") return site.fail("one predicate for two comparisons");
  const each = type.slice(0, -2);
  const [a, b] = [site.read(site.operand(1), type), site.read(site.operand(2), type)];
  const [p, q] = [site.write(to.first, "pred"), site.write(to.second, "pred")];
  const [x, y] = [site.temporary(1), site.temporary(1)];
  const test = tester(site, each, x, y);
  const combine = combinations[site.one(["and", "or", "xor"]) ?? ""];
  const c = combine === undefined ? undefined : site.read(site.operand(3), "pred");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const other = c !== undefined && w.i32[c + l] !== 0;
      for (const [shift, d] of [
        [0, p],
        [16, q],
      ] as const) {
        w.i32[x + l] = ((w.i32[a + l] as number) >>> shift) & 0xffff;
        w.i32[y + l] = ((w.i32[b + l] as number) >>> shift) & 0xffff;
        const holds = test(w, l);
        w.i32[d + l] = Number(combine === undefined ? holds : combine(holds, other));
      }
    }
  };
}

/** All ones, or 1.0, if the comparison holds. */
const set: Compile = (site) => {
  const type = sourceType(site);
  const to = site.type(0);
  if (type.endsWith("x2") || bitsOf(to) !== 32) return site.fail("this type");
  const d = site.write(site.operand(0), to);
  const test = tester(
    site,
    type,
    site.read(site.operand(1), type),
    site.read(site.operand(2), type),
  );
  const combine = combinations[site.one(["and", "or", "xor"]) ?? ""];
  const c = combine === undefined ? undefined : site.read(site.operand(3), "pred");
  const yes = to === "f32" ? 0x3f800000 : -1;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const holds = test(w, l);
      const all =
        c === undefined || combine === undefined ? holds : combine(holds, w.i32[c + l] !== 0);
      w.i32[d + l] = all ? yes : 0;
    }
  };
};

const selp: Compile = (site) => {
  const type = site.type();
  const words = wordsOf(type);
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  const p = site.read(site.operand(3), "pred");
  return (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const from = i32[p + l] !== 0 ? a : b;
      for (let i = 0; i < words; i++) i32[d + l * words + i] = i32[from + l * words + i] as number;
    }
  };
};

/** The first source if the third is a number and not negative, else the second. */
const slct: Compile = (site) => {
  const type = site.type(0);
  const by = site.type(1);
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  const c = site.read(site.operand(3), by);
  const words = wordsOf(type);
  const first = copy(d, a, words);
  const second = copy(d, b, words);
  const one = new Uint8Array(1);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      one[0] = l;
      const takes = (by === "f32" ? (w.f32[c + l] as number) : (w.i32[c + l] as number)) >= 0;
      (takes ? first : second)(w, one, 1);
    }
  };
};

export const comparisons: Readonly<Record<string, Compile>> = { setp, set, selp, slct };
