// A workload as its solo profile shows it. Schedulers know this much. What the workloads of a pair do to each other,
// they do not know (truth.ts).

export interface Workload {
  readonly name: string;
  readonly role: "online" | "offline";
  readonly memoryGB: number;
  /** The part of the time in which a kernel runs while it works alone, 0 to 1 (nvidia-smi's utilisation). */
  readonly busy: number;
  /** The same for its memory interface. */
  readonly memoryBusy: number;
  /** Throughput alone on 10, 20, … 100 % of the SMs, divided by that on all: ten numbers, of which the last is 1. */
  readonly byShare: readonly number[];
  /** Latency of a request alone on the reference GPU; online workloads only. */
  readonly requestMs: number;
}

/** Throughput alone on a share of the SMs, divided by that on all. Linear between the measured shares, from 0 at 0. */
export function aloneAt({ byShare }: Workload, share: number): number {
  const place = share * byShare.length;
  const upper = Math.min(byShare.length, Math.ceil(place - 1e-9));
  if (upper <= 0) return 0;
  const lower = upper - 1;
  const below = lower > 0 ? (byShare[lower - 1] ?? 0) : 0;
  const above = byShare[upper - 1] ?? 0;
  return below + (above - below) * Math.min(1, place - lower);
}

/** A workload that retains this much does not need more SMs. */
const MIN_RETAINED = 0.95;

/** The SMs that it can use while it works, 0 to 1: the smallest share with which it retains 95 % of its speed. */
export function smNeed(workload: Workload): number {
  const { byShare } = workload;
  const enough = byShare.findIndex((speed) => speed >= MIN_RETAINED);
  return (enough < 0 ? byShare.length : enough + 1) / byShare.length;
}
