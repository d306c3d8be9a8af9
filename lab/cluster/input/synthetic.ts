// Invented workloads, so that a simulation needs no measured data: a catalogue, and a rule for pairs. Sizes are like
// those of common models on a data-centre GPU. The rule is the simplest one with both causes of interference: SMs that
// both sides need, and memory bandwidth that both sides need.

import type { Truth } from "../model/truth.ts";
import { aloneAt, smNeed, type Workload } from "../model/workload.ts";

/** Throughput over shares of the SMs, of a workload that can use `need` of them. It has a soft knee. */
export const curveOf = (need: number): readonly number[] => {
  const at = (share: number) => Math.tanh((1.6 * share) / need) / Math.tanh(1.6 / need);
  return Array.from({ length: 10 }, (_, i) => at((i + 1) / 10));
};

const online = (
  name: string,
  requestMs: number,
  need: number,
  busy: number,
  memoryBusy: number,
  memoryGB: number,
): Workload => ({
  name,
  role: "online",
  requestMs,
  byShare: curveOf(need),
  busy,
  memoryBusy,
  memoryGB,
});
const offline = (
  name: string,
  need: number,
  busy: number,
  memoryBusy: number,
  memoryGB: number,
): Workload => ({
  name,
  role: "offline",
  requestMs: 0,
  byShare: curveOf(need),
  busy,
  memoryBusy,
  memoryGB,
});

export const syntheticWorkloads: readonly Workload[] = [
  online("recommendation", 6, 0.25, 0.35, 0.3, 5),
  online("translation", 18, 0.5, 0.7, 0.25, 6),
  online("image-tagging", 10, 0.4, 0.55, 0.2, 4),
  offline("resnet-train", 0.75, 0.95, 0.45, 7),
  offline("vgg-train", 0.95, 0.98, 0.5, 9),
  offline("densenet-train", 0.6, 0.85, 0.55, 8),
  offline("small-train", 0.3, 0.6, 0.2, 3),
];

/**
 * Half of the time, a request waits for the neighbour's blocks on SMs that both need. Applies to the contended part.
 */
const SM_PRESSURE = 0.5;
const BANDWIDTH_PRESSURE = 0.6;

export const syntheticTruth: Truth = {
  together(high, low, share) {
    const reach = Math.min(share, smNeed(low));
    const overlap = Math.max(0, smNeed(high) + reach - 1);
    const bandwidth = high.memoryBusy * low.memoryBusy * aloneAt(low, share);
    const loss = BANDWIDTH_PRESSURE * bandwidth;
    const alone = aloneAt(low, share);
    return {
      online: 1 - Math.min(0.9, SM_PRESSURE * overlap * high.busy + loss),
      offline:
        alone * (1 - Math.min(0.9, (overlap / Math.max(reach, 0.1)) * high.busy * 0.8 + loss)),
    };
  },
  beside(one, other, share) {
    const overlap = Math.max(0, smNeed(one) + Math.min(share, smNeed(other)) - 1);
    return (
      1 - Math.min(0.9, overlap * 0.5 + BANDWIDTH_PRESSURE * one.memoryBusy * other.memoryBusy)
    );
  },
};
