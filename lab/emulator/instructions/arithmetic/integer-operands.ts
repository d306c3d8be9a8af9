// Operands of integer operations, and binary operations by type.

import type { Step } from "../../machine/warp.ts";
import { bitsOf, isSigned } from "../../numbers/types.ts";
import type { Site, Slot } from "../site.ts";
import { longs2, type Value, words2 } from "./loops.ts";

export type Two = (a: number, b: number) => number;
export type Big = (a: bigint, b: bigint) => bigint;

/** The operation with its operands extended and its result truncated as the type requires (up to 32 bits). */
export function narrow(type: string, of: Two): Two {
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
  const each = narrow(type.slice(0, 3), of);
  return (a, b) => each(a & 0xffff, b & 0xffff) | (each(a >>> 16, b >>> 16) << 16);
};

/** d = a op b, by the type. */
export function binary(site: Site, of: Two, wide: Big | undefined): Step {
  const type = site.type();
  const d = site.write(site.operand(0), type);
  const a = site.read(site.operand(1), type);
  const b = site.read(site.operand(2), type);
  if (bitsOf(type) === 64) {
    if (wide === undefined) return site.fail("this type");
    return longs2(d, a, b, isSigned(type), wide);
  }
  return words2(d, a, b, isHalves(type) ? inHalves(type, of) : narrow(type, of));
}

export const value = (site: Site, index: number, type: string, write = false): Value => ({
  slot: write ? site.write(site.operand(index), type) : site.read(site.operand(index), type),
  bits: bitsOf(type),
  signed: isSigned(type),
});

export const three = (site: Site, type: string): readonly [Slot, Slot, Slot, Slot] => [
  site.write(site.operand(0), type),
  site.read(site.operand(1), type),
  site.read(site.operand(2), type),
  site.read(site.operand(3), type),
];
