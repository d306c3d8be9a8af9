// Long matrix products that a best-effort client requests in parts (decision 0006), on the modelled GPU. The names of
// kernels show which are products of cuBLAS. A profile lacks two facts. If a grid was rounded up, it has more waves
// here than the library would say. And here a division is not given up when parts take longer than predicted.
import { type KernelProfile, SM_RESOURCES, volume, type WorkloadProfile } from "#profile";
import { partsOfGrid } from "../gate/gate.ts";
import { RESOURCES } from "../machine/contention.ts";
import type { KernelColumns, Plan } from "../model/plan.ts";
import type { GpuModel } from "../model/presets.ts";

interface Parts {
  readonly count: number;
  readonly blocks: number;
  /** The part of the whole's time that one part takes. The last part may have fewer blocks. */
  readonly share: number;
  readonly lastBlocks: number;
  readonly lastShare: number;
}

/** Convolutions belong to cuDNN, even if they are matrix products inside. */
export const isProduct = (name: string): boolean =>
  /gemm|nvjet/i.test(name) && !/cudnn|conv|implicit|[fdw](prop|grad)/i.test(name);

/** undefined: the product stays whole. */
export function partsOfProduct(
  { name, grid, durationNs }: KernelProfile,
  sms: number,
  targetUs: number,
): Parts | undefined {
  if (targetUs === 0 || !isProduct(name)) return undefined;
  const parts = partsOfGrid(grid, sms, Math.floor(durationNs.p50 / 1000), targetUs);
  if (!parts) return undefined;
  const all = grid[parts.side];
  const across = volume(grid) / all;
  const count = Math.ceil(all / parts.lines);
  const last = all - (count - 1) * parts.lines;
  const waves = (lines: number) => Math.ceil((lines * across) / sms);
  return {
    count,
    blocks: parts.lines * across,
    share: waves(parts.lines) / waves(all),
    lastBlocks: last * across,
    lastShare: waves(last) / waves(all),
  };
}

type Steps = KernelColumns & Pick<Plan, "length" | "cpuNs" | "bubbleNs" | "bytes">;

/** Appends the parts of each product behind the steps. They follow each other like kernels of a stream. */
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
