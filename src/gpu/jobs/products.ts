// Long matrix products that a best-effort client requests in parts (decision 0006), on the modelled GPU. The names of
// kernels show which are products of cuBLAS. The number of parts is calculated as in
// native/interposer/products/parts.cpp, with tiles of the grid in place of the result's lines. Two things are not
// known from a profile. If a grid was rounded up, it has more waves here than the library would say. And no part is
// given up for taking longer than predicted.
import {
  type Dim3,
  type KernelProfile,
  SM_RESOURCES,
  volume,
  type WorkloadProfile,
} from "#profile";
import { RESOURCES } from "../machine/contention.ts";
import type { KernelColumns, Plan } from "../plan.ts";
import type { GpuModel } from "../presets.ts";

interface Parts {
  readonly count: number;
  readonly blocks: number;
  /** Of the whole's time, one part's; the last may have fewer blocks. */
  readonly share: number;
  readonly lastBlocks: number;
  readonly lastShare: number;
}

const MOST_PARTS = 64;
/** Parts of so much more than the target are short enough. */
const ENOUGH = 5 / 4;

/** Convolutions are cuDNN's, even where they are products inside. */
export const isProduct = (name: string): boolean =>
  /gemm|nvjet/i.test(name) && !/cudnn|conv|implicit|[fdw](prop|grad)/i.test(name);

const wavesOf = (blocks: number, sms: number): number => Math.ceil(blocks / sms);

interface Candidate extends Parts {
  readonly waves: number;
  readonly allWaves: number;
  readonly lengthUs: number;
}

/** As the interposer would; undefined: it stays whole. Never divided is the third side, which may be the sum. */
export function partsOfProduct(
  { name, grid, durationNs }: KernelProfile,
  sms: number,
  targetUs: number,
): Parts | undefined {
  const us = durationNs.p50 / 1000;
  if (targetUs === 0 || us <= targetUs * ENOUGH || !isProduct(name)) return undefined;
  const [best] = [0, 1]
    .flatMap((side) => candidates(grid, side, us, sms, targetUs))
    .sort((a, b) => a.lengthUs - b.lengthUs || a.allWaves - b.allWaves || a.count - b.count);
  const waves = wavesOf(volume(grid), sms);
  // Little is won by parts that are nearly as long as the whole.
  return best && best.waves * 4 <= waves * 3 ? best : undefined;
}

function candidates(
  grid: Dim3,
  side: number,
  us: number,
  sms: number,
  targetUs: number,
): Candidate[] {
  const lines = grid[side] ?? 1;
  const across = volume(grid) / lines;
  const waves = wavesOf(volume(grid), sms);
  const most = Math.min(Math.floor((2 * us) / targetUs) + 1, MOST_PARTS, lines);
  const found: Candidate[] = [];
  for (let pieces = most; pieces >= 2; pieces--) {
    const each = Math.ceil(lines / pieces);
    const count = Math.ceil(lines / each);
    const blocks = each * across;
    const lastBlocks = (lines - (count - 1) * each) * across;
    const [one, last] = [wavesOf(blocks, sms), wavesOf(lastBlocks, sms)];
    const allWaves = (count - 1) * one + last;
    // Up to a quarter more where the product is of few waves that take long each.
    const dear = us >= 2 * targetUs * waves ? 1.25 : 1.08;
    if (count < 2 || allWaves > waves * dear) continue;
    const lengthUs = Math.max((one * us) / waves, targetUs * ENOUGH);
    found.push({
      count,
      blocks,
      share: one / waves,
      lastBlocks,
      lastShare: last / waves,
      waves: one,
      allWaves,
      lengthUs,
    });
  }
  return found;
}

type Steps = KernelColumns & Pick<Plan, "length" | "cpuNs" | "bubbleNs" | "bytes">;

/** Behind the steps come the parts of each product. They follow each other as kernels of a stream do. */
export function withParts<Draft extends Steps>(
  draft: Draft,
  { sequence, kernels }: WorkloadProfile,
  { description, handoverNs, launchNs }: GpuModel,
  targetUs: number,
): Draft & Pick<Plan, "partsFrom" | "partCount"> {
  const { length } = draft;
  const partsFrom = new Int32Array(length);
  const partCount = new Int32Array(length);
  const parts: { readonly of: number; readonly share: number; readonly blocks: number }[] = [];
  sequence
    .filter((step) => !("mark" in step))
    .forEach((step, i) => {
      const kernel = "kernel" in step ? kernels[step.kernel] : undefined;
      const divided = kernel && partsOfProduct(kernel, description.sms, targetUs);
      if (!divided) return;
      const { count, share, blocks, lastShare, lastBlocks } = divided;
      partsFrom[i] = length + parts.length;
      partCount[i] = count;
      for (let n = 1; n < count; n++) parts.push({ of: i, share, blocks });
      parts.push({ of: i, share: lastShare, blocks: lastBlocks });
    });
  const all = { ...draft, partsFrom, partCount };
  if (parts.length === 0) return all;
  const longer = <Of extends Float64Array | Uint8Array | Uint32Array>(of: Of, width = 1): Of => {
    const more = new (of.constructor as new (length: number) => Of)(
      of.length + parts.length * width,
    );
    more.set(of);
    parts.forEach((part, n) => {
      more.set(of.subarray(part.of * width, (part.of + 1) * width), (length + n) * width);
    });
    return more;
  };
  const steps = {
    kind: longer(draft.kind),
    durationNs: longer(draft.durationNs),
    spread: longer(draft.spread),
    cpuNs: longer(draft.cpuNs),
    bubbleNs: longer(draft.bubbleNs),
    bytes: longer(draft.bytes),
    units: longer(draft.units),
    perSm: longer(draft.perSm),
    blockParts: longer(draft.blockParts, SM_RESOURCES),
    need: longer(draft.need, RESOURCES),
    kernelClass: longer(draft.kernelClass),
    expectedUs: longer(draft.expectedUs),
  };
  parts.forEach(({ of, share, blocks }, n) => {
    const at = length + n;
    steps.durationNs[at] = share * (draft.durationNs[of] ?? 0);
    steps.expectedUs[at] = Math.ceil(share * (draft.expectedUs[of] ?? 0));
    steps.units[at] = blocks / (draft.perSm[of] ?? 1);
    steps.cpuNs[at] = launchNs;
    if (at > (partsFrom[of] ?? 0)) steps.bubbleNs[at] = handoverNs;
  });
  return { ...all, ...steps };
}
