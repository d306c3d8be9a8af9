// mov, cvta and other moves; loads and stores in all state spaces.

import type { Operand } from "#ptx";
import { misaligned, outOfBounds } from "../machine/errors.ts";
import {
  HEAP_WINDOW,
  LOCAL_WINDOW,
  PARAM_WINDOW,
  type Segment,
  SHARED_WINDOW,
  WORD,
} from "../machine/memory.ts";
import type { Step, Warp } from "../machine/warp.ts";
import { bitsOf, bytesOf, isSigned, wordsOf } from "../numbers/types.ts";
import type { Address, Compile, Site, Slot } from "./site.ts";

/** Copies `words` words. */
export const copy = (d: Slot, a: Slot, words: number): Step =>
  words === 1
    ? (w, lanes, n) => {
        const { i32 } = w;
        for (let k = 0; k < n; k++) {
          const l = lanes[k] as number;
          i32[d + l] = i32[a + l] as number;
        }
      }
    : (w, lanes, n) => {
        const { i32 } = w;
        for (let k = 0; k < n; k++) {
          const at = (lanes[k] as number) * words;
          for (let i = 0; i < words; i++) i32[d + at + i] = i32[a + at + i] as number;
        }
      };

const mov: Compile = (site) => {
  const type = site.type();
  const to = site.operand(0);
  const from = site.operand(1);
  if (to.kind === "vector") return unpack(site, to.elements, from, type);
  if (from.kind === "vector") return pack(site, to, from.elements, type);
  return copy(site.write(to, type), site.read(from, type), wordsOf(type));
};

/** `mov.b64 {a, b}, c`: the pieces from the lowest bits up. */
function unpack(site: Site, to: readonly Operand[], from: Operand, type: string): Step {
  const each = bitsOf(type) / to.length;
  const source = site.read(from, type);
  const words = wordsOf(type);
  const slots = to.map((one) => site.write(one, `b${each}`));
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      for (let i = 0; i < slots.length; i++) {
        const bit = i * each;
        const at = source + l * words + (bit >> 5);
        const slot = slots[i] as number;
        if (each >= 32)
          for (let j = 0; j < each / 32; j++)
            w.i32[slot + (l * each) / 32 + j] = w.i32[at + j] as number;
        else w.i32[slot + l] = ((w.i32[at] as number) >>> (bit & 31)) & (2 ** each - 1);
      }
    }
  };
}

function pack(site: Site, to: Operand, from: readonly Operand[], type: string): Step {
  const each = bitsOf(type) / from.length;
  const words = wordsOf(type);
  const d = site.write(to, type);
  const slots = from.map((one) => site.read(one, `b${each}`));
  // Through scratch words, because the destination may be one of the sources.
  const value = new Int32Array(4);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      value.fill(0);
      for (let i = 0; i < slots.length; i++) {
        const bit = i * each;
        const slot = slots[i] as number;
        if (each >= 32)
          for (let j = 0; j < each / 32; j++)
            value[(bit >> 5) + j] = w.i32[slot + (l * each) / 32 + j] as number;
        else
          value[bit >> 5] =
            (value[bit >> 5] as number) |
            (((w.i32[slot + l] as number) & (2 ** each - 1)) << (bit & 31));
      }
      for (let i = 0; i < words; i++) w.i32[d + l * words + i] = value[i] as number;
    }
  };
}

const windows: Readonly<Record<string, number>> = { shared: SHARED_WINDOW, local: LOCAL_WINDOW };

/** Converts to a generic address by adding the window of the space, and back by removing it. */
const cvta: Compile = (site) => {
  const type = site.type();
  const space = site.one(["global", "shared::cta", "shared", "local", "const", "param"]);
  if (space === undefined) return site.fail("its space is missing");
  const d = site.write(site.operand(0), "u64");
  const a = site.read(site.operand(1), type);
  if (bitsOf(type) !== 64) return site.fail("32-bit addresses");
  const into = !site.has("to");
  // An address of a parameter has its window from the start, unless 32 bits have held it on the way.
  const window = space === "param" && into ? PARAM_WINDOW : windows[space.replace("::cta", "")];
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const at = 2 * (lanes[k] as number);
      w.i32[d + at] = w.i32[a + at] as number;
      w.i32[d + at + 1] = window === undefined ? (w.i32[a + at + 1] as number) : into ? window : 0;
    }
  };
};

const isspacep: Compile = (site) => {
  const space = site.one(["global", "shared::cta", "shared", "local", "const", "param"]);
  const window = windows[space?.replace("::cta", "") ?? ""] ?? HEAP_WINDOW;
  if (space === undefined || space === "const" || space === "param") return site.fail("this space");
  const d = site.write(site.operand(0), "pred");
  const a = site.read(site.operand(1), "u64");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      w.i32[d + l] = w.i32[a + 2 * l + 1] === window ? 1 : 0;
    }
  };
};

/** Finds a lane's bytes: sets the warp's `segment` and returns the offset in it. */
export type Locate = (warp: Warp, lane: number) => number;

const hex = (address: number) => `0x${address.toString(16)}`;

/** Spaces as modifiers name them; "" is generic. */
export function spaceOf(site: Site): string {
  const { modifiers } = site.instruction.operation;
  for (const one of modifiers) {
    // A block is a cluster of its own.
    const space = one.replace(/::(cta|cluster|entry|func)$/, "");
    if (/^(global|shared|local|const|param)$/.test(space)) return space;
  }
  return "";
}

/** How to find the bytes of an access of `size` bytes, which must be aligned to it. */
export function locate(
  { space, slot, words, offset }: Address,
  size: number,
  what: string,
): Locate {
  // The upper word is signed, because a small negative base may have a positive offset.
  const addressIn = (w: Warp, l: number): number =>
    words === 2
      ? (w.u32[slot + 2 * l] as number) + (w.i32[slot + 2 * l + 1] as number) * WORD + offset
      : (w.u32[slot + l] as number) + offset;

  const heap = (w: Warp, l: number, address: number): number => {
    const at = address - HEAP_WINDOW * WORD;
    if (at % size !== 0) throw misaligned(what, hex(address), size, l);
    const { memory } = w.block.running;
    if (at < memory.start || at + size > memory.end) memory.find(at, size, what, l);
    w.segment = memory.heap;
    return at;
  };
  const shared = (w: Warp, l: number, at: number): number => {
    if (at % size !== 0) throw misaligned(what, `${hex(at)} in shared memory`, size, l);
    if (at < 0 || at + size > w.block.running.sharedBytes)
      throw outOfBounds(what, `${hex(at)} in shared memory`, size, l);
    w.segment = w.block.shared;
    return at;
  };
  const local = (w: Warp, l: number, at: number): number => {
    if (at % size !== 0) throw misaligned(what, `${hex(at)} in local memory`, size, l);
    if (at < 0 || at + size > w.localBytes)
      throw outOfBounds(what, `${hex(at)} in local memory`, size, l);
    w.segment = w.local;
    return at + l * w.localBytes;
  };
  const param = (w: Warp, l: number, at: number): number => {
    const { params, paramBytes } = w.block.running;
    if (at % size !== 0) throw misaligned(what, `${hex(at)} in the parameters`, size, l);
    if (at < 0 || at + size > paramBytes)
      throw outOfBounds(what, `${hex(at)} in the parameters`, size, l);
    w.segment = params;
    return at;
  };

  switch (space) {
    case "global":
    case "const":
      return (w, l) => heap(w, l, addressIn(w, l));
    case "shared":
      return (w, l) => shared(w, l, addressIn(w, l) % WORD);
    case "local":
      return (w, l) => local(w, l, addressIn(w, l));
    default:
      return (w, l) => {
        const address = addressIn(w, l);
        if (address >= HEAP_WINDOW * WORD) return heap(w, l, address);
        const window = Math.floor(address / WORD);
        const at = address - window * WORD;
        if (window === SHARED_WINDOW) return shared(w, l, at);
        if (window === LOCAL_WINDOW) return local(w, l, at);
        if (window === PARAM_WINDOW) return param(w, l, at);
        throw outOfBounds(what, hex(address), size, l);
      };
  }
}

export const pieces = (operand: Operand): readonly Operand[] =>
  operand.kind === "vector" ? operand.elements : [operand];

/** An operand of a load or store, which must be in brackets. */
export function memoryOperand(site: Site, index: number) {
  const operand = site.operand(index);
  return operand.kind === "memory" ? operand : site.fail(`operand ${index + 1} is no address`);
}

const ld: Compile = (site) => {
  const type = site.type();
  const to = pieces(site.operand(0));
  const address = site.address(memoryOperand(site, 1), spaceOf(site));
  const each = bytesOf(type);
  const find = locate(address, each * to.length, "a load");
  const slots = to.map((one) => site.write(one, type));
  const narrow = to.map((one) => site.bits(one, type) === 16);
  const signed = isSigned(type);
  const [first = 0] = slots;
  if (each === 4 && slots.length === 1)
    return (w, lanes, n) => {
      const { i32 } = w;
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        const at = find(w, l);
        i32[first + l] = w.segment.i32[at >> 2] as number;
      }
    };
  const words = each / 4;
  if (each >= 4)
    return (w, lanes, n) => {
      const { i32 } = w;
      for (let k = 0; k < n; k++) {
        const l = lanes[k] as number;
        let at = find(w, l) / 4;
        const from = w.segment.i32;
        for (let i = 0; i < slots.length; i++) {
          const slot = (slots[i] as number) + l * words;
          for (let j = 0; j < words; j++) i32[slot + j] = from[at++] as number;
        }
      }
    };
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const at = find(w, l);
      for (let i = 0; i < slots.length; i++) {
        const value = small(w.segment, at + i * each, each, signed);
        w.i32[(slots[i] as number) + l] = narrow[i] ? value & 0xffff : value;
      }
    }
  };
};

function small(segment: Segment, at: number, bytes: number, signed: boolean): number {
  if (bytes === 1) return (signed ? segment.i8[at] : segment.u8[at]) as number;
  return (signed ? segment.i16[at >> 1] : segment.u16[at >> 1]) as number;
}

const st: Compile = (site) => {
  const type = site.type();
  const space = spaceOf(site);
  const from = pieces(site.operand(1));
  const address = site.address(memoryOperand(site, 0), space);
  const each = bytesOf(type);
  const find = locate(address, each * from.length, "a store");
  const slots = from.map((one) => site.read(one, type));
  const words = each / 4;
  return (w, lanes, n) => {
    const { i32 } = w;
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const at = find(w, l);
      const { segment } = w;
      for (let i = 0; i < slots.length; i++) {
        const slot = slots[i] as number;
        const here = at + i * each;
        if (each === 4) segment.i32[here >> 2] = i32[slot + l] as number;
        else if (each === 1) segment.u8[here] = i32[slot + l] as number;
        else if (each === 2) segment.u16[here >> 1] = i32[slot + l] as number;
        else
          for (let j = 0; j < words; j++)
            segment.i32[(here >> 2) + j] = i32[slot + l * words + j] as number;
      }
    }
  };
};

const nothing: Compile = () => () => undefined;

/** Hints and fences: nothing to do, because every access is visible at once. */
const hints = ["prefetch", "prefetchu", "membar", "fence", "applypriority", "discard", "pmevent"];

const createpolicy: Compile = (site) => {
  const d = site.write(site.operand(0), "b64");
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      w.i32[d + 2 * l] = 0;
      w.i32[d + 2 * l + 1] = 0;
    }
  };
};

export const moves: Readonly<Record<string, Compile>> = {
  mov,
  cvta,
  isspacep,
  ld,
  ldu: ld,
  st,
  createpolicy,
  ...Object.fromEntries(hints.map((one) => [one, nothing])),
};
