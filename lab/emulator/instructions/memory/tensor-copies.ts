// cp.async.bulk.tensor and cp.reduce.async.bulk.tensor: copies of boxes of a tensor to shared memory and back.

import { KernelError, misaligned } from "../../machine/errors.ts";
import { HEAP_WINDOW, WORD } from "../../machine/memory.ts";
import type { Warp } from "../../machine/warp.ts";
import { locate, memoryOperand } from "../moves.ts";
import type { Meaning, Site } from "../site.ts";
import { type Update, updateOf } from "./atomics.ts";
import { onlyKnown, reduce, startBulk, wayOf } from "./bulk-copies.ts";
import { mbarrierAddress } from "./mbarriers.ts";
import { swizzleAddress } from "./swizzle.ts";
import { mapAddress, type ReadMap, readMap } from "./tensor-maps.ts";

/** A box in shared memory begins at a multiple of this. */
const BOX_ALIGNMENT = 128;
/**
 * In the row of a tensor a box begins at a multiple of this. On an H200 any other begin ends with an illegal
 * instruction. So does a store that begins before its tensor; a load may.
 */
const ROW_ALIGNMENT = 16;

/** Into shared memory `[box], [map, {x, ...}], [mbarrier]`; out of it `[map, {x, ...}], [box]`. */
export function tensorCopy(site: Site): Meaning {
  onlyKnown(site);
  const { modifiers } = site.instruction.operation;
  const way = wayOf(site);
  const dimensions = Number(modifiers.find((one) => /^[1-5]d$/.test(one))?.[0]);
  const [boxAt, mapAt] = way === "loads" ? [0, 1] : [1, 0];
  const [coordinates] = memoryOperand(site, mapAt).rest;
  if (coordinates?.kind !== "vector" || coordinates.elements.length !== dimensions)
    return site.fail("coordinates that are no vector of its dimensions");
  const corner = coordinates.elements.map((one) => site.read(one, "s32"));
  const findMap = mapAddress(site, mapAt);
  const findBox = locate(site.address(memoryOperand(site, boxAt), "shared"), 16, "a box");
  const bar = way === "loads" ? mbarrierAddress(site, 2) : undefined;
  const updates = site.has("reduce") ? (map: ReadMap) => updateOf(site, map.element) : undefined;
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const start = findMap(w, l);
      const map = readMap(w.segment, start, l);
      if (map.sizes.length !== dimensions)
        throw new KernelError("PTX_BAD_TENSOR", `its map has ${map.sizes.length} dimensions`, l);
      const copy: Copy = {
        map,
        corner: corner.map((slot) => w.i32[slot + l] as number),
        sides: map.box.map((side, i) => Math.ceil(side / (map.steps[i] as number))),
        at: findBox(w, l),
        way,
        update: updates?.(map),
      };
      const bytes = copy.sides.reduce((all, side) => all * side, map.bytes);
      const inRow = (copy.corner[0] as number) * map.bytes;
      if (inRow % ROW_ALIGNMENT !== 0)
        throw new KernelError(
          "PTX_MISALIGNED",
          `its box begins ${inRow} bytes into rows, not at 16`,
          l,
        );
      if (way === "stores" && copy.corner.some((one) => one < 0)) {
        const corner = copy.corner.join(", ");
        throw new KernelError(
          "PTX_OUT_OF_BOUNDS",
          `a box for ${corner} begins before its tensor`,
          l,
        );
      }
      if (copy.at % BOX_ALIGNMENT !== 0)
        throw misaligned("a box", `0x${copy.at.toString(16)} in shared memory`, BOX_ALIGNMENT, l);
      if (copy.at + bytes > w.block.running.sharedBytes)
        throw new KernelError("PTX_OUT_OF_BOUNDS", `a box of ${bytes} bytes is out of bounds`, l);
      startBulk(site, w, l, bar, bytes, () => move(w, l, copy));
    }
  };
}

interface Copy {
  readonly map: ReadMap;
  /** The corner of the box in the tensor. It may be outside. */
  readonly corner: readonly number[];
  /** The size of the box in shared memory, in elements. */
  readonly sides: readonly number[];
  readonly at: number;
  readonly way: "loads" | "stores";
  readonly update: Update | undefined;
}

/** Row by row. In shared memory, rows follow each other. */
function move(w: Warp, lane: number, copy: Copy): void {
  const { map, corner, sides } = copy;
  const rows = sides.slice(1).reduce((all, side) => all * side, 1);
  for (let row = 0; row < rows; row++) {
    let address = map.address - HEAP_WINDOW * WORD;
    let inside = true;
    let rest = row;
    for (let d = 1; d < sides.length; d++) {
      const side = sides[d] as number;
      const index = (corner[d] as number) + (rest % side) * (map.steps[d] as number);
      rest = Math.floor(rest / side);
      inside &&= index >= 0 && index < (map.sizes[d] as number);
      address += index * (map.strides[d - 1] as number);
    }
    moveRow(w, lane, copy, row, inside ? address : undefined);
  }
}

/** `address`: where the row's first element would be in the heap; undefined if the whole row is outside the tensor. */
function moveRow(
  w: Warp,
  lane: number,
  copy: Copy,
  row: number,
  address: number | undefined,
): void {
  const { map, corner, sides, at, way, update } = copy;
  const { bytes, swizzle } = map;
  const [first = 0] = corner;
  const [count = 0] = sides;
  const [size = 0] = map.sizes;
  const { memory } = w.block.running;
  const { shared } = w.block;
  // Elements before `from`, and from `until` on, are outside.
  const from = address === undefined ? count : Math.min(count, Math.max(0, -first));
  const until = Math.max(from, Math.min(count, size - first));
  const base = address ?? 0;
  if (until > from) {
    const start = base + (first + from) * bytes;
    const length = (until - from) * bytes;
    if (start < memory.start || start + length > memory.end)
      memory.find(start, length, "a row of a box", lane);
  }
  for (let e = 0; e < count; e++) {
    const here = swizzleAddress(at + (row * count + e) * bytes, swizzle);
    if (e < from || e >= until) {
      if (way === "loads") shared.u8.fill(0, here, here + bytes);
      continue;
    }
    const there = base + (first + e) * bytes;
    const { heap } = memory;
    if (update !== undefined) reduce(heap, there, shared, here, bytes, update);
    else
      for (let i = 0; i < bytes; i++)
        if (way === "loads") shared.u8[here + i] = heap.u8[there + i] as number;
        else heap.u8[there + i] = shared.u8[here + i] as number;
  }
}
