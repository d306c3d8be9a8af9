// What neighbour costs as the GPU's own scheduling has it, from metrics that every recording has.
//
// Under MPS a kernel that comes finds SMs full of its neighbour's blocks. Blocks are not preempted, so it waits for
// some of them to end; a request of many short kernels waits so for each of them. On an H200 that wait was the same
// for a kernel of ResNet-50 as for one of BERT, and in proportion to how long the neighbour's blocks are
// (docs/design/prediction.md). A job that waits for its CPU part of the time (kernelShare below 1) hides so much of it. And
// what the neighbour's kernels fill of the SMs, while it is at work, is not there for the target.
import type { Features, MetricName } from "../metrics.ts";

const needed = [
  "kernelsPerMs",
  "blockWaitUs",
  "kernelShare",
  "smsFilled",
] as const satisfies readonly MetricName[];

/** Whether metrics allow it. */
export const isAccountable = (metrics: readonly MetricName[]): boolean =>
  needed.every((name) => metrics.includes(name));

/** Part of the neighbour's SM time that the target misses; measured on one H200, as the part of a block's rest. */
const MISSED = 0.6;

/** Retained throughput of the target; `wait`: part of a running block's rest that a kernel waits for. */
export function accounted(target: Features, neighbour: Features, wait: number): number {
  const own = busyShare(target, neighbour, wait);
  const theirs = busyShare(neighbour, target, wait);
  const missed = (MISSED * filledShare(neighbour)) / Math.max(1, theirs);
  return 1 / Math.max(1, own + missed);
}

/** Time that its kernels run or wait / the time that it takes alone. */
const busyShare = (one: Features, other: Features, wait: number): number =>
  (one.kernelShare ?? 0) + (((one.kernelsPerMs ?? 0) * (other.blockWaitUs ?? 0)) / 1000) * wait;

const filledShare = ({ smsFilled = 0, kernelShare = 0 }: Features): number =>
  smsFilled * kernelShare;
