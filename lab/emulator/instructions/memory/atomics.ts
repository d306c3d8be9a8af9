// atom and red. Lanes execute one after the other without interruption, so all memory orders and scopes hold.

import { HEAP_WINDOW, type Segment, WORD } from "../../machine/memory.ts";
import { decode, encode, type HalfType } from "../../numbers/halves.ts";
import { fmaF32, sumToOdd } from "../../numbers/rounding.ts";
import { bitsOf, bytesOf, isFloat, isSigned } from "../../numbers/types.ts";
import { locate, memoryOperand, pieces, spaceOf } from "../moves.ts";
import type { Compile, Site } from "../site.ts";

/** New value of the cell, from the old one and the operands; all as bits of the type. */
export type Update = (old: bigint, b: bigint, c: bigint) => bigint;

const operations = ["add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"] as const;

const scratch = new DataView(new ArrayBuffer(8));

function floatSum(type: string): Update | undefined {
  if (type === "f32")
    return (old, b) => {
      scratch.setUint32(0, Number(old));
      const x = scratch.getFloat32(0);
      scratch.setUint32(0, Number(b));
      const sum = fmaF32(x, 1, scratch.getFloat32(0), "rn");
      if (Number.isNaN(sum)) return 0x7fffffffn;
      scratch.setFloat32(0, sum);
      return BigInt(scratch.getUint32(0));
    };
  if (type === "f64")
    return (old, b) => {
      scratch.setBigUint64(0, old);
      const x = scratch.getFloat64(0);
      scratch.setBigUint64(0, b);
      scratch.setFloat64(0, x + scratch.getFloat64(0));
      return scratch.getBigUint64(0);
    };
  const half: HalfType | undefined = /^bf16/.test(type)
    ? "bf16"
    : /^f16/.test(type)
      ? "f16"
      : undefined;
  if (half === undefined) return undefined;
  const one = (x: number, y: number): number => {
    const a = decode[half](x);
    const b = decode[half](y);
    return encode(a + b === 0 ? a + b : sumToOdd(a, b), half, "rn");
  };
  if (!type.endsWith("x2")) return (old, b) => BigInt(one(Number(old), Number(b)));
  return (old, b) => {
    const [x, y] = [Number(old), Number(b)];
    return BigInt(((one(x >>> 16, y >>> 16) << 16) | one(x & 0xffff, y & 0xffff)) >>> 0);
  };
}

/** The float extremum of halves (red.min.f16 ...) is missing, because no known program uses it. */
export function updateOf(site: Site, type: string): Update {
  const width = bitsOf(type);
  const as = (v: bigint) => (isSigned(type) ? BigInt.asIntN(width, v) : v);
  const operation = site.one(operations) ?? site.fail("its operation is missing");
  switch (operation) {
    case "add":
      return floatSum(type) ?? ((old, b) => old + b);
    case "min":
    case "max": {
      if (type.includes("f")) return site.fail("this type");
      const first = operation === "min";
      return (old, b) => (as(b) < as(old) === first && b !== old ? b : old);
    }
    case "and":
      return (old, b) => old & b;
    case "or":
      return (old, b) => old | b;
    case "xor":
      return (old, b) => old ^ b;
    case "exch":
      return (_, b) => b;
    case "cas":
      return (old, b, c) => (old === b ? c : old);
    case "inc":
      return (old, b) => (old >= b ? 0n : old + 1n);
    case "dec":
      return (old, b) => (old === 0n || old > b ? b : old - 1n);
  }
}

export function readCell(segment: Segment, at: number, bytes: number): bigint {
  if (bytes === 8) return segment.u64[at >> 3] as bigint;
  if (bytes === 4) return BigInt((segment.i32[at >> 2] as number) >>> 0);
  return BigInt(segment.u16[at >> 1] as number);
}

export function writeCell(segment: Segment, at: number, bytes: number, value: bigint): void {
  if (bytes === 8) segment.u64[at >> 3] = BigInt.asUintN(64, value);
  else if (bytes === 4) segment.i32[at >> 2] = Number(BigInt.asIntN(32, value));
  else segment.u16[at >> 1] = Number(BigInt.asUintN(16, value));
}

/** The same for words of 32 bits, without bigint: the common case. */
type WordUpdate = (old: number, b: number, c: number) => number;

function wordUpdate(site: Site, type: string): WordUpdate | undefined {
  if (bitsOf(type) !== 32) return undefined;
  const operation = site.one(operations);
  if (isFloat(type)) return undefined;
  const unsigned = type === "u32";
  switch (operation) {
    case "add":
      return (old, b) => old + b;
    case "and":
      return (old, b) => old & b;
    case "or":
      return (old, b) => old | b;
    case "xor":
      return (old, b) => old ^ b;
    case "exch":
      return (_, b) => b;
    case "cas":
      return (old, b, c) => (old === b ? c : old);
    case "min":
      return unsigned ? (old, b) => Math.min(old >>> 0, b >>> 0) : Math.min;
    case "max":
      return unsigned ? (old, b) => Math.max(old >>> 0, b >>> 0) : Math.max;
    default:
      return undefined;
  }
}

const atom =
  (returns: boolean): Compile =>
  (site) => {
    const first = returns ? 1 : 0;
    const type = site.type();
    const each = bytesOf(type);
    if (each > 8) return site.fail("this width");
    const to = returns ? pieces(site.operand(0)) : [];
    const values = pieces(site.operand(first + 1));
    const slots = to.map((one) => site.write(one, type));
    const operands = values.map((one) => site.read(one, type));
    const third = site.has("cas") ? site.read(site.operand(first + 2), type) : undefined;
    const find = locate(
      site.address(memoryOperand(site, first), spaceOf(site)),
      each * values.length,
      "an atomic access",
    );
    const simple = values.length === 1 ? wordUpdate(site, type) : undefined;
    const [b0 = 0] = operands;
    const d0 = slots[0];
    if (simple !== undefined)
      return (w, lanes, n) => {
        const { onAtomic } = w.block.running;
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          const at = find(w, l);
          const { segment } = w;
          const old = segment.i32[at >> 2] as number;
          const c = third === undefined ? 0 : (w.i32[third + l] as number);
          segment.i32[at >> 2] = simple(old, w.i32[b0 + l] as number, c);
          if (d0 !== undefined) w.i32[d0 + l] = old;
          if (onAtomic !== undefined && segment === w.block.running.memory.heap)
            onAtomic(at + HEAP_WINDOW * WORD);
        }
      };
    const update = updateOf(site, type);
    const words = each === 8 ? 2 : 1;
    return (w, lanes, n) => {
      const { onAtomic } = w.block.running;
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const at = find(w, l);
        const { segment } = w;
        const value = (slot: number): bigint =>
          words === 2 ? (w.u64[slot / 2 + l] as bigint) : BigInt(w.u32[slot + l] as number);
        for (let i = 0; i < operands.length; i++) {
          const here = at + i * each;
          const old = readCell(segment, here, each);
          const b = value(operands[i] as number);
          const c = third === undefined ? 0n : value(third);
          writeCell(segment, here, each, update(old, b, c));
          const d = slots[i];
          if (d === undefined) continue;
          if (words === 2) w.u64[d / 2 + l] = old;
          else w.u32[d + l] = Number(old);
        }
        if (onAtomic !== undefined && segment === w.block.running.memory.heap)
          onAtomic(at + HEAP_WINDOW * WORD);
      }
    };
  };

export const atomics: Readonly<Record<string, Compile>> = { atom: atom(true), red: atom(false) };
