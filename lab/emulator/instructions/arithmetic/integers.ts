// Operations on integers.

import type { Step } from "../../machine/warp.ts";
import { bitsOf } from "../../numbers/types.ts";
import type { Compile, Slot } from "../site.ts";
import { addWithCarry } from "./carries.ts";
import { type Big, binary, value } from "./integer-operands.ts";
import { bits, words1 } from "./loops.ts";
import { products } from "./products.ts";

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
  if (site.has("cc")) return addWithCarry(site, "add", false);
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
  if (site.has("cc")) return addWithCarry(site, "sub", false);
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

const addc: Compile = (site) => addWithCarry(site, "add", true);
const subc: Compile = (site) => addWithCarry(site, "sub", true);
const madc: Compile = (site) => addWithCarry(site, "mad", true);

/** A quotient by 0 has all bits set, as on the hardware; PTX does not define it. The remainder is the dividend. */
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

const sad: Compile = (site) => {
  const type = site.type();
  return bits(
    value(site, 0, type, true),
    [value(site, 1, type), value(site, 2, type), value(site, 3, type)],
    (a = 0n, b = 0n, c = 0n) => c + (a < b ? b - a : a - b),
  );
};

export const integers: Readonly<Record<string, Compile>> = {
  ...products,
  add,
  sub,
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
};
