// How many more blocks of a kernel find room on the SMs. A GPU puts each block on the SM that has most room. So a
// kernel of 192 blocks, four to an SM, is not on 48 of 132 SMs but on all of them, with one or two blocks each. An
// empty SM is rare, and a block that needs all of an SM's shared memory waits until the blocks there have ended. Blocks
// of other kernels fit beside as far as warps, blocks, registers and shared memory allow (partsOfSm of #profile).
//
// This was measured on an H200 (docs/results/hardware.md). One result is not modelled: an SM's array is divided into shared memory
// and cache for the kernel that comes when the SM is empty. A kernel that needs more shared memory waits until the SM
// is empty again.
import { SM_RESOURCES } from "#profile";
import { RUNNING, type Stream } from "./stream.ts";

const EPSILON = 1e-9;

/** The kernel's blocks that are on SMs. `gone` is the part that a yielding kernel has lost. */
const blocksOf = ({ sms, perSm, leaves }: Stream, gone: number): number =>
  leaves ? sms * perSm * (1 - gone) : sms * perSm;

/** The SMs that have blocks of the kernel. */
export const smsUnder = ({ sms, perSm, smLimit }: Stream): number => Math.min(smLimit, sms * perSm);

/** Blocks of `other` that fit on an SM with this many of `stream`. */
function fitBeside({ blockParts }: Stream, blocks: number, other: Stream): number {
  let fit = other.perSm;
  if (blocks === 0) return fit;
  for (let r = 0; r < SM_RESOURCES; r++) {
    const left = 1 - blocks * (blockParts[r] as number);
    const room = Math.floor(left / (other.blockParts[r] as number) + EPSILON);
    if (room < fit) fit = room;
  }
  return Math.max(fit, 0);
}

/**
 * The units of `wanting` that could begin now, within its limit of SMs. `gone`: as if yielding kernels (`leaves`) had
 * lost that part of their blocks already.
 */
export function roomFor(
  wanting: Stream,
  running: readonly Stream[],
  total: number,
  gone = 0,
): number {
  let covered = 0;
  for (let i = 0; i < running.length; i++) {
    const stream = running[i] as Stream;
    covered += Math.min(stream.smLimit, blocksOf(stream, gone));
  }
  const blocks =
    covered <= total + EPSILON
      ? fitApart(wanting, running, total - covered, gone)
      : fitMixed(wanting, running, total, gone);
  const own = wanting.state === RUNNING ? wanting.sms : 0;
  return Math.min(Math.floor(blocks + 1e-6) / wanting.perSm, wanting.smLimit - own);
}

/** The blocks that fit if each running kernel has SMs of its own. */
function fitApart(
  wanting: Stream,
  running: readonly Stream[],
  empty: number,
  gone: number,
): number {
  let blocks = empty * wanting.perSm;
  for (let i = 0; i < running.length; i++) {
    const stream = running[i] as Stream;
    const there = blocksOf(stream, gone);
    const sms = Math.min(stream.smLimit, there);
    if (sms <= EPSILON) continue;
    const least = Math.floor(there / sms + EPSILON);
    const fuller = Math.max(0, there - least * sms);
    blocks += (sms - fuller) * fitBeside(stream, least, wanting);
    if (fuller > 0) blocks += fuller * fitBeside(stream, least + 1, wanting);
  }
  return blocks;
}

/** The blocks that fit if the running kernels share all SMs evenly. */
function fitMixed(
  wanting: Stream,
  running: readonly Stream[],
  total: number,
  gone: number,
): number {
  let fit = wanting.perSm;
  for (let r = 0; r < SM_RESOURCES; r++) {
    let used = 0;
    for (let i = 0; i < running.length; i++) {
      const stream = running[i] as Stream;
      used += blocksOf(stream, gone) * (stream.blockParts[r] as number);
    }
    const room = Math.floor((1 - used / total) / (wanting.blockParts[r] as number) + EPSILON);
    if (room < fit) fit = room;
  }
  return fit > 0 ? total * fit : 0;
}
