// Under MPS a new kernel waits for blocks of its neighbour to end. On an H200 that wait was the
// same for a kernel of ResNet-50 and for one of BERT, and proportional to the length of the
// neighbour's blocks (docs/design/prediction.md). A job that waits for its CPU part of the time
// (kernelShare below 1) hides that much of it. SMs that the neighbour's kernels fill are not
// available.
import type { Features, MetricName } from "../data/metrics.ts";

const needed = [
  "kernelsPerMs",
  "blockWaitUs",
  "kernelShare",
  "smsFilled",
] as const satisfies readonly MetricName[];

export const isAccountable = (metrics: readonly MetricName[]): boolean =>
  needed.every((name) => metrics.includes(name));

/** The target loses this part of the neighbour's SM time, as measured on one H200, like `wait`. */
const MISSED = 0.6;

/** `wait`: the part of a running block's remaining time for which a kernel waits. */
export function accounted(target: Features, neighbour: Features, wait: number): number {
  const own = busyShare(target, neighbour, wait);
  const theirs = busyShare(neighbour, target, wait);
  const missed = (MISSED * filledShare(neighbour)) / Math.max(1, theirs);
  return 1 / Math.max(1, own + missed);
}

const busyShare = (one: Features, other: Features, wait: number): number =>
  (one.kernelShare ?? 0) + (((one.kernelsPerMs ?? 0) * (other.blockWaitUs ?? 0)) / 1000) * wait;

const filledShare = ({ smsFilled = 0, kernelShare = 0 }: Features): number =>
  smsFilled * kernelShare;
