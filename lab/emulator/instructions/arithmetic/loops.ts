// Loops over lanes, which most instructions consist of: read, compute, write. There is one for each type of register
// view, so that tables of operations contain only the arithmetic. Indices are in range by construction, hence `as
// number`.

import type { Step } from "../../machine/warp.ts";
import type { Slot } from "../site.ts";

/** PTX's canonical NaN of 32 bits (PTX ISA 9.0, 9.7.3). */
const NAN_F32 = 0x7fffffff;

/** Integers of up to 32 bits, as signed words. */
export const words1 =
  (d: Slot, a: Slot, of: (a: number) => number): Step =>
  (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      i32[d + l] = of(i32[a + l] as number);
    }
  };

export const words2 =
  (d: Slot, a: Slot, b: Slot, of: (a: number, b: number) => number): Step =>
  (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      i32[d + l] = of(i32[a + l] as number, i32[b + l] as number);
    }
  };

export const words3 =
  (d: Slot, a: Slot, b: Slot, c: Slot, of: (a: number, b: number, c: number) => number): Step =>
  (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      i32[d + l] = of(i32[a + l] as number, i32[b + l] as number, i32[c + l] as number);
    }
  };

export const words4 =
  (
    d: Slot,
    sources: readonly [Slot, Slot, Slot, Slot],
    of: (a: number, b: number, c: number, e: number) => number,
  ): Step =>
  (w, lanes, n) => {
    const { i32 } = w;
    const [a, b, c, e] = sources;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      i32[d + l] = of(
        i32[a + l] as number,
        i32[b + l] as number,
        i32[c + l] as number,
        i32[e + l] as number,
      );
    }
  };

export const floats1 =
  (d: Slot, a: Slot, of: (a: number) => number): Step =>
  (w, lanes, n) => {
    const { f32, i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const value = of(f32[a + l] as number);
      if (!Number.isNaN(value)) f32[d + l] = value;
      else i32[d + l] = NAN_F32;
    }
  };

export const floats2 =
  (d: Slot, a: Slot, b: Slot, of: (a: number, b: number) => number): Step =>
  (w, lanes, n) => {
    const { f32, i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const value = of(f32[a + l] as number, f32[b + l] as number);
      if (!Number.isNaN(value)) f32[d + l] = value;
      else i32[d + l] = NAN_F32;
    }
  };

export const floats3 =
  (d: Slot, a: Slot, b: Slot, c: Slot, of: (a: number, b: number, c: number) => number): Step =>
  (w, lanes, n) => {
    const { f32, i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const value = of(f32[a + l] as number, f32[b + l] as number, f32[c + l] as number);
      if (!Number.isNaN(value)) f32[d + l] = value;
      else i32[d + l] = NAN_F32;
    }
  };

export const doubles1 =
  (d: Slot, a: Slot, of: (a: number) => number): Step =>
  (w, lanes, n) => {
    const { f64 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      f64[d / 2 + l] = of(f64[a / 2 + l] as number);
    }
  };

export const doubles2 =
  (d: Slot, a: Slot, b: Slot, of: (a: number, b: number) => number): Step =>
  (w, lanes, n) => {
    const { f64 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      f64[d / 2 + l] = of(f64[a / 2 + l] as number, f64[b / 2 + l] as number);
    }
  };

export const doubles3 =
  (d: Slot, a: Slot, b: Slot, c: Slot, of: (a: number, b: number, c: number) => number): Step =>
  (w, lanes, n) => {
    const { f64 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      f64[d / 2 + l] = of(
        f64[a / 2 + l] as number,
        f64[b / 2 + l] as number,
        f64[c / 2 + l] as number,
      );
    }
  };

/** 64-bit integers, signed or not. */
export const longs2 =
  (d: Slot, a: Slot, b: Slot, signed: boolean, of: (a: bigint, b: bigint) => bigint): Step =>
  (w, lanes, n) => {
    const view = signed ? w.s64 : w.u64;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      view[d / 2 + l] = of(view[a / 2 + l] as bigint, view[b / 2 + l] as bigint);
    }
  };

/** Any types of sources and destination, through bigint; slow, for rare operations. */
export const bits =
  (destination: Value, sources: readonly Value[], of: (...values: bigint[]) => bigint): Step =>
  (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const value = of(
        ...sources.map(({ slot, bits: width, signed }) => {
          const raw =
            width > 32 ? (w.u64[slot / 2 + l] as bigint) : BigInt(w.u32[slot + l] as number);
          return signed ? BigInt.asIntN(width, raw) : BigInt.asUintN(width, raw);
        }),
      );
      if (destination.bits > 32) w.u64[destination.slot / 2 + l] = BigInt.asUintN(64, value);
      else w.u32[destination.slot + l] = Number(BigInt.asUintN(destination.bits, value));
    }
  };

export interface Value {
  readonly slot: Slot;
  readonly bits: number;
  readonly signed: boolean;
}
