// A service with long bursts has few. Best-effort work affects a long burst throughout, so each
// tells more than a short one.

const MIN_US = 10e6; // bursts of 10 s suffice
const MIN_BURSTS = 10;

export const burstsThatTell = (usual: number, burstUs: number): number =>
  Math.min(usual, Math.max(MIN_BURSTS, MIN_US / Math.max(1, burstUs)));
