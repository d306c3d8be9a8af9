// What is known of a level before it is tried. A chunk is what a burst may find before it, so a level with longer
// chunks makes a burst longer by at most what they are longer: the bursts of the level in force tell what they would
// be there, and a hundred of them tell as much as three hundred that are only known to hold where they are. And
// best-effort work beside a request that leaves no gaps takes its time from it: that need not be tried to be known.
import { bucketMiddle, type Rules, whenActive } from "#protocol";
import { ALLOWED } from "./evidence.ts";
import type { SeenHigh } from "./policy.ts";
import type { Bursts, Limits } from "./yardstick.ts";

/** Fewer bursts say nothing of 1 % of them. */
const SOME = 100;
/** It may be that a level adds more than a chunk at times; and a share is not known well from so few. */
const SAFE = ALLOWED / 2;
/** Of a limit: that some hundredth reaches it where the others are so far below is not to be expected. */
const FAR = 1 / 4;

/** In mode mps a request with less of its time in kernels leaves gaps: whether it pays is seen. */
const LEAVES_GAPS = 0.75;

/** What a burst may wait longer under `to` than under `from`, in us; infinite where more than a chunk goes before it. */
export function addedUs(from: Rules, to: Rules): number {
  if (to.whenActive !== whenActive.wait || to.besideEveryUs > 0) return Number.POSITIVE_INFINITY;
  // Requests that queue were not interrupted so far.
  return from.resumeDelayUs > 0 && to.resumeDelayUs === 0 ? to.chunkUs : to.chunkUs - from.chunkUs;
}

/** Whether the bursts that were counted, each longer by anything up to `added` us, would hold with something to spare. */
export const wouldHold = (seen: Bursts, limits: Limits, added: number): boolean =>
  added < Number.POSITIVE_INFINITY &&
  wouldStayBelow(seen.lasted, limits.lastedUs, added) &&
  wouldStayBelow(seen.waited, limits.waitedUs, added);

/** Whether they hold so clearly that a hundred say it. */
export const holdClearly = (seen: Bursts, { lastedUs, waitedUs }: Limits): boolean =>
  wouldHold(seen, { lastedUs: FAR * lastedUs, waitedUs: FAR * waitedUs }, 0);

function wouldStayBelow(counts: Uint32Array | undefined, limitUs: number, added: number): boolean {
  let [bursts, above] = [0, 0];
  for (let bucket = 0; bucket < (counts?.length ?? 0); bucket++) {
    const n = counts?.[bucket] ?? 0;
    if (n === 0) continue;
    const room = limitUs - bucketMiddle(bucket);
    bursts += n;
    above += n * (room >= added ? 0 : room <= 0 ? 1 : 1 - room / added);
  }
  return bursts >= SOME && above <= SAFE * bursts;
}

/** The part of the time that best-effort work is given beside a request. */
function besideShare({ whenActive: when, besideEveryUs, chunkUs }: Rules): number {
  if (when === whenActive.allow) return 1;
  return besideEveryUs > 0 ? Math.min(1, chunkUs / besideEveryUs) : 0;
}

/**
 * Whether the median burst would already be above a limit. What is given beside a request and does not fit into the
 * time in which it has no kernel of its own, it waits for. Of a client without a profile only that much is known:
 * where contexts take turns, whoever is not held takes half of the GPU.
 */
export function isHopeless(
  { burstP50Us, gpuShare }: SeenHigh,
  rules: Rules,
  { lastedUs, waitedUs }: Limits,
): boolean {
  const share = besideShare(rules);
  if (burstP50Us === undefined || share === 0) return false;
  const turns = rules.isolated === 1;
  const busy = gpuShare ?? (turns ? 1 : 0);
  if (!turns && busy < LEAVES_GAPS) return false;
  const longer = burstP50Us * Math.max(0, share - (1 - busy));
  return longer > waitedUs || burstP50Us + longer > lastedUs;
}
