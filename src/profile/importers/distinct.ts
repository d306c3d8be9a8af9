// Launches are of one kernel if name, shape, registers and shared memory agree.
import { quantile } from "#core";
import { classify } from "../model/classify.ts";
import { smsNeeded } from "../model/occupancy.ts";
import type { KernelClass, KernelProfile } from "../model/types.ts";

type Identity = Pick<
  KernelProfile,
  "name" | "grid" | "block" | "registers" | "staticSharedBytes" | "dynamicSharedBytes"
>;
type Utilisation = Pick<KernelProfile, "sm" | "memory" | "dram" | "l2Hit">;

export interface Launch {
  readonly identity: Identity;
  readonly durationNs: number;
  readonly used: Utilisation;
  readonly flops?: number;
  readonly bytes?: number;
  readonly class?: KernelClass;
}

export interface Distinct {
  readonly kernels: readonly KernelProfile[];
  /** It has the place in `kernels` of each launch's kernel. */
  readonly of: readonly number[];
}

export function distinct(
  launches: readonly Launch[],
  gpu: { readonly computeCapability: string; readonly ridge?: number },
): Distinct {
  const groups = new Map<string, { readonly place: number; readonly launches: Launch[] }>();
  const of = launches.map((launch) => {
    const key = keyOf(launch.identity);
    const group = groups.get(key) ?? { place: groups.size, launches: [] };
    groups.set(key, group);
    group.launches.push(launch);
    return group.place;
  });
  return { kernels: [...groups.values()].map(({ launches }) => kernelOf(launches, gpu)), of };
}

const keyOf = (identity: Identity): string => {
  const { name, grid, block, registers, staticSharedBytes, dynamicSharedBytes } = identity;
  return JSON.stringify([name, grid, block, registers, staticSharedBytes, dynamicSharedBytes]);
};

function kernelOf(
  group: readonly Launch[],
  gpu: { readonly computeCapability: string; readonly ridge?: number },
): KernelProfile {
  const [first] = group;
  if (!first) throw new Error("a kernel without a launch");
  const { identity } = first;
  const used = {
    ...mean("sm", group, ({ used }) => used.sm),
    ...mean("memory", group, ({ used }) => used.memory),
    ...mean("dram", group, ({ used }) => used.dram),
    ...mean("l2Hit", group, ({ used }) => used.l2Hit),
  };
  const counted = {
    ...mean("flops", group, ({ flops }) => flops),
    ...mean("bytes", group, ({ bytes }) => bytes),
    ...(gpu.ridge !== undefined && { ridge: gpu.ridge }),
  };
  return {
    ...identity,
    durationNs: quantiles(group.map(({ durationNs }) => durationNs)),
    smsNeeded: smsNeeded(gpu.computeCapability, identity.grid, identity),
    ...used,
    class: first.class ?? classify({ ...counted, ...used }),
  };
}

/** The mean is weighted by duration; it is empty if no launch has the figure. */
function mean<Key extends string>(
  key: Key,
  group: readonly Launch[],
  of: (launch: Launch) => number | undefined,
): { readonly [K in Key]?: number } {
  const known = group.flatMap((launch) => {
    const value = of(launch);
    return value === undefined ? [] : [{ value, weight: launch.durationNs }];
  });
  const weights = known.reduce((sum, { weight }) => sum + weight, 0);
  if (weights === 0) return {};
  const sum = known.reduce((sum, { value, weight }) => sum + value * weight, 0);
  return { [key]: sum / weights } as { readonly [K in Key]?: number };
}

const quantiles = (durations: readonly number[]): { p50: number; p95: number } => ({
  p50: quantile(durations, 0.5),
  p95: quantile(durations, 0.95),
});
