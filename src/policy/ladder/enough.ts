// How many bursts tell something. A service whose bursts are long has few of them. What best-effort work does to a long burst it does
// throughout, so each of them tells more than a short one.

/** Enough evidence: bursts of 10 s in all, but at least 10 bursts. */
const MIN_US = 10e6;
const MIN_BURSTS = 10;

/** `usual`: of short bursts. `burstUs`: how long one takes, which a single long one must not decide. */
export const burstsThatTell = (usual: number, burstUs: number): number =>
  Math.min(usual, Math.max(MIN_BURSTS, MIN_US / Math.max(1, burstUs)));
