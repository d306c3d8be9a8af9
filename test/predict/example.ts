// For tests: an invented GPU on which what a neighbour costs is known exactly.

import { mulberry32, shuffle } from "#core";
import type { Colocation, Features, SmShares } from "#predict";

/**
 * Jobs take turns kernel by kernel, so a neighbour costs as much as its kernels are long and often there; a partition
 * costs what a job's kernels fill beyond it.
 */
export function truth(target: Features, others: readonly Features[], shares?: SmShares): number {
  const need = (target.smBusy ?? 0) / 100;
  const slowdown = others.reduce(
    (sum, { kernelUs = 0, smBusy = 0 }) =>
      sum + ((smBusy / 100) * kernelUs) / (target.kernelUs ?? 1) / 2,
    1,
  );
  return Math.min(1, (shares?.target ?? 1) / need) / slowdown;
}

export function exampleWorkloads(count: number, seed = 1): readonly Features[] {
  const random = mulberry32(seed);
  return Array.from({ length: count }, () => {
    const smBusy = 20 + 80 * random();
    const kernelUs = 20 * 10 ** random();
    return {
      smBusy,
      kernelUs,
      memoryGB: 1 + 30 * random(),
      memoryBusy: smBusy * random(),
      soloThroughput: 3000 / kernelUs,
    };
  });
}

export const exampleMetrics = [
  "smBusy",
  "kernelUs",
  "memoryGB",
  "memoryBusy",
  "soloThroughput",
] as const;

/** Every pair, a workload with itself included; with `split`, the first has this part of the SMs, the other the rest. */
export function examplePairs(
  workloads: readonly Features[],
  split?: number,
): readonly Colocation[] {
  return workloads.flatMap((a, i) =>
    workloads.slice(i).map((b) => {
      const [mine, theirs] = split === undefined ? [1, 1] : [split, 1 - split];
      const side = (one: Features, other: Features, share: number, rest: number) => ({
        features: one,
        retained: truth(one, [other], { target: share, others: [rest] }),
        smShare: share,
      });
      return { sides: [side(a, b, mine, theirs), side(b, a, theirs, mine)] };
    }),
  );
}

/** Colocations of `size` different workloads, drawn at random. */
export function exampleColocations(
  workloads: readonly Features[],
  size: number,
  count: number,
  seed = 1,
): readonly Colocation[] {
  const random = mulberry32(seed);
  return Array.from({ length: count }, () => {
    const clients = shuffle(workloads, random).slice(0, size);
    return {
      sides: clients.map((features, i) => ({
        features,
        retained: truth(features, clients.toSpliced(i, 1)),
        smShare: 1,
      })),
    };
  });
}
