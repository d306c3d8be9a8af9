// A workload as its solo profile shows it. This much schedulers know; what a pair does to each other is the
// simulator's secret (truth.ts).

export interface Workload {
  readonly name: string;
  readonly role: "online" | "offline";
  readonly memoryGB: number;
  /** Part of the time that a kernel runs while it works alone, 0 to 1 (nvidia-smi's utilisation). */
  readonly busy: number;
  /** The same of its memory interface. */
  readonly memoryBusy: number;
  /** Throughput alone on 10, 20, … 100 % of the SMs / on all: ten numbers, the last is 1. */
  readonly byShare: readonly number[];
  /** Of a request alone, on the reference GPU; online only. */
  readonly requestMs: number;
}

/** Throughput alone on a share of the SMs / on all of them, between the measured shares along a line from 0. */
export function aloneAt({ byShare }: Workload, share: number): number {
  const place = share * byShare.length;
  const upper = Math.min(byShare.length, Math.ceil(place - 1e-9));
  if (upper <= 0) return 0;
  const lower = upper - 1;
  const below = lower > 0 ? (byShare[lower - 1] ?? 0) : 0;
  const above = byShare[upper - 1] ?? 0;
  return below + (above - below) * Math.min(1, place - lower);
}

/** Losing less than this is not needing more. */
const ENOUGH = 0.95;

/** SMs that it can make use of while it works, 0 to 1: the smallest share that leaves it 95 % of its speed. */
export function smNeed(workload: Workload): number {
  const { byShare } = workload;
  const enough = byShare.findIndex((speed) => speed >= ENOUGH);
  return (enough < 0 ? byShare.length : enough + 1) / byShare.length;
}
