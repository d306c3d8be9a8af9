// How many bursts tell something. A service whose bursts are long has few of them. What best-effort work does to a long burst it does
// throughout, so each of them tells more than a short one.

/** In us. Bursts of this time in all are enough, */
const LONG_US = 10e6;
/** but no fewer than these. */
const FEWEST = 10;

/** `usual`: of short bursts. `burstUs`: how long one takes, which a single long one must not decide. */
export const burstsThatTell = (usual: number, burstUs: number): number =>
  Math.min(usual, Math.max(FEWEST, LONG_US / Math.max(1, burstUs)));
