// A burst may find one chunk before it, so longer chunks make it longer by at most the difference,
// and bursts at the present level bound those at the next one.
import { bucketMiddle, type Rules, whenActive } from "#protocol";
import type { SeenHigh } from "../contract/policy.ts";
import { ALLOWED } from "../evidence/evidence.ts";
import { isCpuLimited } from "../parameters/cpu-limit.ts";
import { burstsThatTell } from "./enough.ts";
import { type Bursts, type Limits, usualUs } from "./yardstick.ts";

const MIN_BURSTS = 100; // fewer say nothing about 1 % of them
const SAFE = ALLOWED / 2; // a level may add more than a chunk at times
const FAR = 1 / 4; // hardly one in a hundred bursts below this will reach the limit

/** In us; infinite if more than a chunk may precede a burst under `to`. */
export function addedUs(from: Rules, to: Rules): number {
  if (to.whenActive !== whenActive.wait || to.coRunEveryUs > 0 || to.graceUs > 0)
    return Number.POSITIVE_INFINITY;
  // With a resume delay, no chunk ran between queued requests.
  return from.resumeDelayUs > 0 && to.resumeDelayUs === 0 ? to.chunkUs : to.chunkUs - from.chunkUs;
}

export const wouldHold = (seen: Bursts, limits: Limits, added: number): boolean =>
  added < Number.POSITIVE_INFINITY &&
  wouldStayBelow(seen.lasted, limits.lastedUs, added) &&
  wouldStayBelow(seen.waited, limits.waitedUs, added);

export function holdClearly(seen: Bursts, { lastedUs, waitedUs }: Limits, few: boolean): boolean {
  const some = few ? burstsThatTell(MIN_BURSTS, usualUs(seen)) : MIN_BURSTS;
  return (
    wouldStayBelow(seen.lasted, FAR * lastedUs, 0, some) &&
    wouldStayBelow(seen.waited, FAR * waitedUs, 0, some)
  );
}

function wouldStayBelow(
  counts: Uint32Array | undefined,
  limitUs: number,
  added: number,
  some = MIN_BURSTS,
): boolean {
  let [bursts, above] = [0, 0];
  for (let bucket = 0; bucket < (counts?.length ?? 0); bucket++) {
    const n = counts?.[bucket] ?? 0;
    if (n === 0) continue;
    const room = limitUs - bucketMiddle(bucket);
    bursts += n;
    above += n * (room >= added ? 0 : room <= 0 ? 1 : 1 - room / added);
  }
  return bursts >= some && above <= SAFE * bursts;
}

function besideShare(
  { whenActive: when, coRunEveryUs, chunkUs, graceUs, graceLaunches }: Rules,
  burstUs: number,
  launches = 0,
): number {
  if (when === whenActive.allow) return 1;
  const begin = graceLaunches > 0 && launches > 0 ? graceLaunches / launches : 1;
  if (graceUs > 0) return Math.min(begin, graceUs / burstUs);
  return coRunEveryUs > 0 ? Math.min(1, chunkUs / coRunEveryUs) : 0;
}

/** Each burst finds a chunk before it, and loses the duty cycle of concurrent best-effort work. */
export function longestFactor(rules: Rules, burstUs: number): number {
  const beside = besideShare(rules, burstUs);
  return (1 + rules.chunkUs / burstUs) / Math.max(0, 1 - beside);
}

/**
 * A request waits for concurrent work that does not fit into its time without a kernel: unknown,
 * that time is 0 where contexts take turns, and all of the request under MPS.
 */
export function isHopeless(
  { burstP50Us, usualBurst, gpuShare }: SeenHigh,
  rules: Rules,
  { lastedUs, waitedUs }: Limits,
): boolean {
  if (burstP50Us === undefined) return false;
  const share = besideShare(rules, burstP50Us, usualBurst?.launches);
  if (share === 0) return false;
  const turns = rules.isolated === 1;
  const busy = gpuShare ?? (turns ? 1 : 0);
  if (!turns && isCpuLimited(busy)) return false;
  const longer = burstP50Us * Math.max(0, share - (1 - busy));
  return longer > waitedUs || burstP50Us + longer > lastedUs;
}
