// Matrices in the registers of a warp, as mma.sync and wgmma distribute them: four lanes hold a row of 8.

import type { Warp } from "../../machine/warp.ts";
import { decode, encode } from "../../numbers/halves.ts";
import type { Slot } from "../site.ts";
import type { Element } from "./matrix-elements.ts";

/** Element (along, k) of a warp's rows of A (16) or columns of B (8). */
export type Fragment = (w: Warp, slots: readonly Slot[], along: number, k: number) => number;

/**
 * Each register holds a piece of 8 rows and 16 bytes of K. For A: the lower 8 rows, the upper 8, then the same for the
 * next piece along K. For B: one piece after the other along K.
 */
const fragment =
  (halves: 1 | 2) =>
  ({ bytes, number }: Element): Fragment => {
    const inWord = 4 / bytes;
    const inPiece = 4 * inWord;
    return (w, slots, along, k) => {
      const piece = (along >> 3) + halves * Math.floor(k / inPiece);
      const lane = (along & 7) * 4 + Math.floor((k % inPiece) / inWord);
      const word = w.i32[(slots[piece] as number) + lane] as number;
      return number(word >>> (8 * bytes * (k % inWord)));
    };
  };

export const fragmentOfA = fragment(2);
export const fragmentOfB = fragment(1);

/** Sums of 16 rows and any number of columns: C and D. */
export interface Sums {
  /** The registers for so many columns. */
  registers(columns: number): number;
  read(w: Warp, slots: readonly Slot[], row: number, column: number): number;
  write(w: Warp, slots: readonly Slot[], row: number, column: number, sum: number): void;
}

const laneOf = (row: number, column: number): number => (row & 7) * 4 + ((column & 7) >> 1);

/** Each 8 columns have four registers: rows 0 to 7, even and odd columns, then rows 8 to 15. */
const wordAt = (slots: readonly Slot[], row: number, column: number): number =>
  (slots[(column >> 3) * 4 + (row >> 3) * 2 + (column & 1)] as number) + laneOf(row, column);

/** The same with even and odd columns in one register. */
const pairAt = (slots: readonly Slot[], row: number, column: number): number =>
  (slots[(column >> 3) * 2 + (row >> 3)] as number) + laneOf(row, column);

const f32: Sums = {
  registers: (columns) => columns / 2,
  read: (w, slots, row, column) => w.f32[wordAt(slots, row, column)] as number,
  write: (w, slots, row, column, sum) => {
    w.f32[wordAt(slots, row, column)] = sum;
  },
};

const f16: Sums = {
  registers: (columns) => columns / 4,
  read: (w, slots, row, column) =>
    decode.f16((w.i32[pairAt(slots, row, column)] as number) >>> (16 * (column & 1))),
  write: (w, slots, row, column, sum) => {
    const at = pairAt(slots, row, column);
    const old = w.i32[at] as number;
    const bits = encode(sum, "f16", "rn");
    w.i32[at] = column & 1 ? (old & 0xffff) | (bits << 16) : (old & ~0xffff) | bits;
  },
};

const whole = (saturates: boolean): Sums => ({
  registers: (columns) => columns / 2,
  read: (w, slots, row, column) => w.i32[wordAt(slots, row, column)] as number,
  write: (w, slots, row, column, sum) => {
    const kept = saturates ? Math.min(Math.max(sum, -(2 ** 31)), 2 ** 31 - 1) : sum;
    w.i32[wordAt(slots, row, column)] = kept;
  },
});

/** By the type of the sums and of the elements; undefined if PTX has no such product. */
export function sumsOf(type: string, of: string, saturates: boolean): Sums | undefined {
  if (/^[us]8$/.test(of)) return type === "s32" ? whole(saturates) : undefined;
  if (type === "f32") return f32;
  return type === "f16" && /^(f16|e4m3|e5m2)$/.test(of) ? f16 : undefined;
}
