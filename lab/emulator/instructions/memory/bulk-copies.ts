// cp.async.bulk and cp.reduce.async.bulk of plain bytes.

import { KernelError } from "../../machine/errors.ts";
import type { Segment } from "../../machine/memory.ts";
import type { Warp } from "../../machine/warp.ts";
import { bytesOf } from "../../numbers/types.ts";
import { type Locate, locate, memoryOperand } from "../moves.ts";
import type { Meaning, Site } from "../site.ts";
import { readCell, type Update, updateOf, writeCell } from "./atomics.ts";
import { complete, mbarrierAddress } from "./mbarriers.ts";

/** Sizes and addresses are multiples of this, in bytes. */
const PIECE = 16;

/** The direction of a copy. A block is a cluster of its own. */
export type Way = "loads" | "stores";

/** From the two spaces behind "bulk", and behind ".tensor.2d" if it is there. */
export function wayOf(site: Site): Way {
  const { modifiers } = site.instruction.operation;
  const [to = "", from = ""] = modifiers.filter((one) => /^(global|shared)/.test(one));
  if (/^shared::(cluster|cta)$/.test(to) && from === "global") return "loads";
  if (to === "global" && from === "shared::cta") return "stores";
  return site.fail("a copy from there to here");
}

/** Fails for modifiers that are not emulated: masks, several blocks, other layouts. */
export function onlyKnown(site: Site): void {
  const known =
    /^(reduce|async|bulk|tensor|[1-5]d|global|shared::\w+|tile|mbarrier::complete_tx::bytes|bulk_group|L2::cache_hint|add|min|max|inc|dec|and|or|xor|noftz|[usbf]+\d+)$/;
  const other = site.instruction.operation.modifiers.find((one) => !known.test(one));
  if (other !== undefined) site.fail(`.${other}`);
}

/** `[to], [from], bytes`; into shared memory also an mbarrier, which counts the bytes. */
export function bulkCopy(site: Site): Meaning {
  onlyKnown(site);
  const way = wayOf(site);
  const place = (index: number, shared: boolean, what: string) =>
    locate(site.address(memoryOperand(site, index), shared ? "shared" : "global"), PIECE, what);
  const to = place(0, way === "loads", "a copy's store");
  const from = place(1, way === "stores", "a copy's load");
  const size = site.read(site.operand(2), "u32");
  const bar = way === "loads" ? mbarrierAddress(site, 3) : undefined;
  const type = site.has("reduce") ? site.type() : undefined;
  const update = type === undefined ? undefined : updateOf(site, type);
  const each = type === undefined ? 1 : bytesOf(type);
  return (w, lanes, n) => {
    for (let k = 0; k < n; k++) {
      const l = lanes[k] as number;
      const bytes = w.u32[size + l] as number;
      if (bytes % PIECE !== 0)
        throw new KernelError("PTX_MISALIGNED", `a copy of ${bytes} bytes is no multiple of 16`, l);
      if (bytes === 0) continue;
      const [at, target] = whole(w, l, to, bytes);
      const [start, source] = whole(w, l, from, bytes);
      startBulk(site, w, l, bar, bytes, () => {
        if (update === undefined) target.u8.set(source.u8.subarray(start, start + bytes), at);
        else
          for (let i = 0; i < bytes; i += each)
            reduce(target, at + i, source, start + i, each, update);
      });
    }
  };
}

/** Combines one element with the element at the destination. */
export function reduce(
  target: Segment,
  at: number,
  source: Segment,
  from: number,
  bytes: number,
  update: Update,
): void {
  const old = readCell(target, at, bytes);
  writeCell(target, at, bytes, update(old, readCell(source, from, bytes), 0n));
}

/** The offset and the segment of `bytes` bytes. Fails if they are not all in it. */
function whole(w: Warp, l: number, find: Locate, bytes: number): [number, Segment] {
  const at = find(w, l);
  const { memory, sharedBytes } = w.block.running;
  const end = w.segment === w.block.shared ? sharedBytes : memory.end;
  if (at + bytes > end)
    throw new KernelError("PTX_OUT_OF_BOUNDS", `a copy of ${bytes} bytes is out of bounds`, l);
  return [at, w.segment];
}

/** Starts a copy that completes on the mbarrier, or in the thread's open group if there is none. */
export function startBulk(
  site: Site,
  w: Warp,
  lane: number,
  bar: Locate | undefined,
  bytes: number,
  move: () => void,
): void {
  const { asyncCopies } = w.block;
  if (bar === undefined) {
    asyncCopies.start("bulk copies", w, lane, site.pc, move);
    return;
  }
  const at = bar(w, lane);
  asyncCopies.start("copies on mbarriers", w, lane, site.pc, () => {
    move();
    complete(w, lane, at, bytes);
  });
}
