// Clients write these counters, and a policy would give away protection for noise in them. Checked
// is what must hold by the agent's clock: bursts follow one another, each is in both histograms and
// in the count, none waits longer than it lasts, and no counter decreases.
import { bucketStart } from "#protocol";

export interface Counted {
  /** Before and after the histograms were read: bursts end meanwhile. */
  readonly bursts: readonly [before: number, after: number];
  readonly launches: number;
  readonly busyNs: number;
  readonly aheadNs: number;
}

export interface Ended {
  readonly durations: Uint32Array;
  readonly waits: Uint32Array;
}

/** The agent may be delayed by this much, and reads the clock before the counters. */
const MAX_DELAY_NS = 1e9;
const MAX_LAUNCHES_PER_S = 20e6;

/** `ns`: time since all bursts counted before had ended. `between`: time since the last sample. */
export function canBe(
  from: Counted,
  to: Counted,
  ended: Ended | undefined,
  { ns, between }: { readonly ns: number; readonly between: number },
): boolean {
  const launched = to.launches - from.launches;
  const busyNs = to.busyNs - from.busyNs;
  const bursts = to.bursts[1] - from.bursts[0];
  return (
    bursts >= 0 &&
    launched >= 0 &&
    launched <= (MAX_LAUNCHES_PER_S * (between + MAX_DELAY_NS)) / 1e9 &&
    busyNs >= 0 &&
    busyNs <= ns + MAX_DELAY_NS &&
    to.aheadNs >= from.aheadNs &&
    (!ended || areTheSame(from, to, ended, ns))
  );
}

/** One burst may be in a histogram and not in the count, which comes last. */
function areTheSame(from: Counted, to: Counted, { durations, waits }: Ended, ns: number): boolean {
  const least = to.bursts[0] - from.bursts[1] - 1;
  const most = to.bursts[1] - from.bursts[0] + 1;
  const lasted = totals(durations);
  const waited = totals(waits);
  return (
    [lasted, waited].every(({ count }) => count >= least && count <= most) &&
    lasted.leastUs <= (ns + MAX_DELAY_NS) / 1e3 &&
    // The last burst may be in one histogram only.
    waited.leastUs - waited.longestUs <= lasted.mostUs
  );
}

/** The first bucket also holds what is shorter. */
function totals(counts: Uint32Array) {
  let [count, leastUs, mostUs, longestUs] = [0, 0, 0, 0];
  for (let bucket = 0; bucket < counts.length; bucket++) {
    const n = counts[bucket] ?? 0;
    if (n === 0) continue;
    const startUs = bucket === 0 ? 0 : bucketStart(bucket);
    count += n;
    leastUs += n * startUs;
    mostUs += n * bucketStart(bucket + 1);
    longestUs = startUs;
  }
  return { count, leastUs, mostUs, longestUs };
}
