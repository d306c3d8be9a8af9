// How many more blocks of a kernel find room on the SMs. A GPU puts each block on the SM that has most room, so
// a kernel of 192 blocks, four to an SM, is on all of 132 SMs with one or two each, not on 48 of them: an empty SM
// is rare, and a block that needs all of one's shared memory waits for the end of whatever is there. Blocks of other
// kernels fit beside as far as warps, blocks, registers and shared memory allow (#profile's partsOfSm).
//
// Measured by bench/probe/beside.sh. What it found and is not modelled: an SM's array is divided into shared memory and cache
// for the kernel that comes when it is empty, and one that needs more of it waits until the SM is empty again.
import { SM_RESOURCES } from "#profile";
import { RUNNING, type Stream } from "./stream.ts";

const EPSILON = 1e-9;

/** Blocks of it that are on SMs; `gone` is the part that those which make room have lost. */
const blocksOf = ({ sms, perSm, leaves }: Stream, gone: number): number =>
  leaves ? sms * perSm * (1 - gone) : sms * perSm;

/** SMs that its blocks are on. */
export const smsUnder = ({ sms, perSm, smLimit }: Stream): number => Math.min(smLimit, sms * perSm);

/** Blocks of `other` that fit on an SM with so many of `stream`. */
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
 * Units of `wanting` that could begin now, at most what its limit of SMs leaves. `gone`: as if those that make room
 * (`leaves`) had lost that part of their blocks already.
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

/** Each on SMs of its own. */
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

/** Several on one SM, evenly. */
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
