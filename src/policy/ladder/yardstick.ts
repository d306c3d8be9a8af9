// `p99=10ms` limits the whole burst. A `slowdown` limits its wait for the GPU, because the
// program's own CPU time drifts by a quarter within a minute (decision 0003).
import { bucketMiddle, quantile } from "#protocol";
import type { AloneBursts, MeteredHigh, Objective } from "../contract/policy.ts";

export interface Bursts {
  readonly lasted: Uint32Array | undefined; // by bucket of duration
  readonly waited: Uint32Array | undefined; // by bucket of time waited
}

export const noBursts: Bursts = { lasted: undefined, waited: undefined };

const ANY = Number.POSITIVE_INFINITY;

/** In us; infinite without a limit. 1 % of bursts may exceed each. */
export interface Limits {
  readonly lastedUs: number;
  readonly waitedUs: number;
}

export const burstsOf = ({ ended, waited }: MeteredHigh): Bursts => ({
  lasted: ended,
  waited: ended && (waited ?? ended),
});

export function limitsOf(
  objective: Objective | undefined,
  alone: AloneBursts | undefined,
): Limits | undefined {
  const { p99Us: lastedUs = ANY, slowdown } = objective ?? {};
  if (slowdown === undefined) return { lastedUs, waitedUs: ANY };
  return alone && { lastedUs, waitedUs: alone.waitedP99Us + slowdown * partOf(objective, alone) };
}

/** The p99 of a service that its CPU limits is noise, so by default (gaps.ts) the median counts. */
const partOf = (objective: Objective | undefined, alone: AloneBursts): number =>
  objective?.medianSlowdown === undefined ? alone.p99Us : (alone.p50Us ?? alone.p99Us);

export function medianWaitUs(
  objective: Objective | undefined,
  alone: AloneBursts | undefined,
): number | undefined {
  const part = objective?.medianSlowdown;
  return part === undefined || !alone
    ? undefined
    : (alone.waitedP50Us ?? alone.waitedP99Us) + part * partOf(objective, alone);
}

/** A burst that keeps the GPU busy waits nearly all of the time. */
export function medianLimitsOf(
  objective: Objective | undefined,
  alone: AloneBursts | undefined,
): Limits | undefined {
  const limits = limitsOf(objective, alone);
  if (!limits || !alone || objective?.slowdown === undefined) return limits;
  const slowedUs = alone.p99Us * (1 + objective.slowdown);
  return { ...limits, lastedUs: Math.min(limits.lastedUs, slowedUs) };
}

export const quantilesOf = ({ lasted, waited }: Bursts, q: number): Required<AloneBursts> => ({
  p50Us: lasted ? quantile(lasted, 0.5) : Number.NaN,
  p99Us: lasted ? quantile(lasted, q) : Number.NaN,
  waitedP50Us: waited ? quantile(waited, 0.5) : Number.NaN,
  waitedP99Us: waited ? quantile(waited, q) : Number.NaN,
});

export const usualUs = ({ lasted }: Bursts): number => (lasted ? quantile(lasted, 0.5) : 0) || 0;

export function slowdownOf(
  { burstWaitP99Us }: { readonly burstWaitP99Us: number | undefined },
  alone: AloneBursts | undefined,
): number | undefined {
  if (burstWaitP99Us === undefined || !alone) return undefined;
  const slowdown = (burstWaitP99Us - alone.waitedP99Us) / alone.p99Us;
  return Number.isFinite(slowdown) ? slowdown : undefined;
}

export const sumOf = (one: Bursts, other: Bursts): Bursts => ({
  lasted: sum(one.lasted, other.lasted),
  waited: sum(one.waited, other.waited),
});

/** One pass, because most of the thousands of buckets are empty. */
function sum(counts: Uint32Array | undefined, more: Uint32Array | undefined) {
  if (!counts || !more) return more ?? counts;
  const all = counts.slice();
  for (let bucket = 0; bucket < more.length; bucket++) {
    const n = more[bucket] ?? 0;
    if (n > 0) all[bucket] = (all[bucket] ?? 0) + n;
  }
  return all;
}

interface Tally {
  readonly bursts: number;
  /** With two limits, the larger count is meant. */
  readonly above: number;
  readonly lastedUs: number;
  readonly waitedUs: number;
}

export function tally({ lasted, waited }: Bursts, limits: Limits | undefined): Tally {
  const whole = count(lasted, limits?.lastedUs);
  const waits = waited === lasted && !limits ? whole : count(waited, limits?.waitedUs);
  const above = Math.min(whole.bursts, Math.max(whole.above, waits.above));
  return { bursts: whole.bursts, above, lastedUs: whole.us, waitedUs: waits.us };
}

function count(counts: Uint32Array | undefined, limitUs = ANY) {
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
