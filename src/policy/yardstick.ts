// What bursts are judged by, in one place. A time (`p99=10ms`) is about the burst whole, whatever takes it. A
// `slowdown` is about what co-location costs, and that is the time for which a burst waits for the GPU: the rest of it is
// the program's own and drifts by a quarter within a minute in one that launches kernel by kernel, co-located or
// without (docs/design/decisions/0003). Of a burst that keeps the GPU busy nearly all is waiting, and all is taken for it
// where nobody reports waits.
import { bucketMiddle, quantile } from "#protocol";
import type { AloneBursts, MeteredHigh, Objective } from "./policy.ts";

/** The same bursts, counted twice. */
export interface Bursts {
  /** By bucket of duration. */
  readonly lasted: Uint32Array | undefined;
  /** By bucket of time waited for the GPU. */
  readonly waited: Uint32Array | undefined;
}

export const noBursts: Bursts = { lasted: undefined, waited: undefined };

const ANY = Number.POSITIVE_INFINITY;

/** In us; infinite where nothing is asked. 1 % of bursts may pass one or the other. */
export interface Limits {
  readonly lastedUs: number;
  readonly waitedUs: number;
}

export const burstsOf = ({ ended, waited }: MeteredHigh): Bursts => ({
  lasted: ended,
  waited: ended && (waited ?? ended),
});

/** What a burst may not pass to count as good; undefined while that is not known. */
export function limitsOf(
  objective: Objective | undefined,
  alone: AloneBursts | undefined,
): Limits | undefined {
  const { p99Us: lastedUs = ANY, slowdown } = objective ?? {};
  if (slowdown === undefined) return { lastedUs, waitedUs: ANY };
  return alone && { lastedUs, waitedUs: alone.waitedP99Us + slowdown * alone.p99Us };
}

/**
 * What the median burst, of which more is known beforehand, may surely not pass. A `slowdown` bounds it whole, too: where
 * it keeps the GPU busy, what it waits alone is nearly all of it.
 */
export function medianLimitsOf(
  objective: Objective | undefined,
  alone: AloneBursts | undefined,
): Limits | undefined {
  const limits = limitsOf(objective, alone);
  if (!limits || !alone || objective?.slowdown === undefined) return limits;
  const slowedUs = alone.p99Us * (1 + objective.slowdown);
  return { ...limits, lastedUs: Math.min(limits.lastedUs, slowedUs) };
}

/** `q`: 0.99, or what stands for it among few. */
export const quantilesOf = ({ lasted, waited }: Bursts, q: number): AloneBursts => ({
  p99Us: lasted ? quantile(lasted, q) : Number.NaN,
  waitedP99Us: waited ? quantile(waited, q) : Number.NaN,
});

/** How much slower than alone bursts are, by what a `slowdown` counts; undefined while that is not known. */
export function slowdownOf(
  { burstWaitP99Us }: { readonly burstWaitP99Us: number | undefined },
  alone: AloneBursts | undefined,
): number | undefined {
  if (burstWaitP99Us === undefined || !alone) return undefined;
  const slowdown = (burstWaitP99Us - alone.waitedP99Us) / alone.p99Us;
  return Number.isFinite(slowdown) ? slowdown : undefined;
}

export const together = (one: Bursts, other: Bursts): Bursts => ({
  lasted: sum(one.lasted, other.lasted),
  waited: sum(one.waited, other.waited),
});

const sum = (counts: Uint32Array | undefined, more: Uint32Array | undefined) =>
  counts && more ? more.map((n, i) => n + (counts[i] ?? 0)) : (more ?? counts);

interface Tally {
  readonly bursts: number;
  /** Of them past a limit: of two, as many as passed the one that more did. */
  readonly above: number;
  /** In us, all together. */
  readonly waitedUs: number;
}

export function tallied({ lasted, waited }: Bursts, limits: Limits | undefined): Tally {
  const whole = counted(lasted, limits?.lastedUs);
  const waits = waited === lasted && !limits ? whole : counted(waited, limits?.waitedUs);
  const above = Math.min(whole.bursts, Math.max(whole.above, waits.above));
  return { bursts: whole.bursts, above, waitedUs: waits.us };
}

/** One pass: most of thousands of buckets are empty. */
function counted(counts: Uint32Array | undefined, limitUs = ANY) {
  let [bursts, above, us] = [0, 0, 0];
  for (let bucket = 0; bucket < (counts?.length ?? 0); bucket++) {
    const n = counts?.[bucket] ?? 0;
    if (n === 0) continue;
    const middle = bucketMiddle(bucket);
    bursts += n;
    us += n * middle;
    if (middle > limitUs) above += n;
  }
  return { bursts, above, us };
}
