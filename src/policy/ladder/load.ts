// The last second is compared with the usual load, by bursts and by their waits for the GPU.
// Durations do not count, because a program's own CPU time drifts. How much the count varies is
// learned: tokens come many to a request.

interface Amount {
  readonly bursts: number;
  readonly waitedUs: number;
  readonly seconds: number;
}

interface Recent extends Amount {
  readonly distance: number | undefined; // (count - usual)² / mean of both
}

export interface Load {
  readonly usual: Amount;
  readonly recent: readonly Recent[]; // they last about a second
  readonly lastBurst: number;
  /** Variance over mean of the bursts of a second: 1 for independent ones (Poisson). */
  readonly dispersion: number;
  readonly change: "rose" | "fell" | undefined;
}

const FACTOR = 1.5;
const SIGNIFICANT = 4; // standard deviations of a count
const WAITED_CHANGE = 0.1; // a smaller part of the GPU does not matter
const RECENT_LOOKS = 4;
const KNOWN_AFTER_S = 3;
const FORGOTTEN_AFTER_S = 60;
const QUIET_AFTER_S = 60;
const DISPERSION_OVER_S = 30;

const none: Amount = { bursts: 0, waitedUs: 0, seconds: 0 };

export const noLoad: Load = {
  usual: none,
  recent: [],
  lastBurst: Number.POSITIVE_INFINITY,
  dispersion: 1,
  change: undefined,
};

/** These stay valid after the parameters or the load have changed. */
export const withoutAmounts = ({ lastBurst, dispersion, recent }: Load): Load => ({
  ...noLoad,
  lastBurst,
  dispersion: recent.reduce(withDistance, dispersion),
});

export const isQuiet = ({ lastBurst }: Load): boolean => lastBurst > QUIET_AFTER_S;

export function differ(
  one: Pick<Amount, "bursts" | "seconds">,
  other: Pick<Amount, "bursts" | "seconds">,
  dispersion = 1,
): boolean {
  if (one.seconds < KNOWN_AFTER_S || other.seconds === 0) return false;
  const part = one.seconds / other.seconds;
  const expected = other.bursts * part;
  const variance = dispersion * Math.max(expected, one.bursts) * (1 + part);
  const randomSpread = SIGNIFICANT * Math.sqrt(variance);
  return (
    Math.max(one.bursts, expected) > FACTOR * Math.min(one.bursts, expected) &&
    Math.abs(one.bursts - expected) > randomSpread
  );
}

export function withLoad(was: Load, now: Amount, counts: boolean): Load {
  const awoke = now.bursts > 0 && isQuiet(was);
  const lastBurst = now.bursts > 0 ? 0 : was.lastBurst + now.seconds;
  if (!counts) return { ...was, lastBurst, change: awoke ? "rose" : undefined };
  const before = was.recent.length < RECENT_LOOKS ? [] : was.recent.slice(0, 1);
  const usual = sum([age(was.usual), ...before]);
  const kept = was.recent.slice(before.length);
  const latest = sum([...kept, now]);
  const dispersion = before.reduce(withDistance, was.dispersion);
  const recent = [...kept, { ...now, distance: distanceOf(usual, latest) }];
  const change = awoke ? "rose" : changeOf(usual, latest, dispersion);
  return { usual, recent, lastBurst, dispersion, change };
}

function distanceOf(usual: Amount, recent: Amount): number | undefined {
  const expected = (usual.bursts / usual.seconds) * recent.seconds;
  const mean = (expected + recent.bursts) / 2;
  return mean > 0 ? (recent.bursts - expected) ** 2 / mean : undefined;
}

/** A sample counts when it is a second old, so that a change is not taken for what is usual. */
function withDistance(was: number, { distance, seconds }: Recent): number {
  const weight = Math.min(1, seconds / DISPERSION_OVER_S);
  return distance === undefined ? was : Math.max(1, was + weight * (distance - was));
}

function changeOf(usual: Amount, recent: Amount, dispersion: number): Load["change"] {
  if (usual.seconds < KNOWN_AFTER_S) return undefined;
  const part = recent.seconds / usual.seconds;
  const expected = usual.bursts * part;
  // If both periods have one rate, this is the variance of the difference, estimated from both.
  const variance = dispersion * (usual.bursts + recent.bursts) * part;
  const randomSpread = SIGNIFICANT * Math.sqrt(variance);
  if (recent.bursts > FACTOR * expected && recent.bursts - expected > randomSpread + SIGNIFICANT)
    return "rose";
  if (FACTOR * recent.bursts < expected && expected - recent.bursts > randomSpread) return "fell";

  // The time waited varies from burst to burst too, hence the 2.
  const more = recent.waitedUs - usual.waitedUs * part;
  const randomWait = (randomSpread * Math.SQRT2 * usual.waitedUs * part) / Math.max(expected, 1);
  const passes = recent.waitedUs > FACTOR * usual.waitedUs * part;
  return passes && more > Math.max(randomWait, WAITED_CHANGE * 1e6 * recent.seconds)
    ? "rose"
    : undefined;
}

const age = (amount: Amount): Amount =>
  amount.seconds < FORGOTTEN_AFTER_S
    ? amount
    : { bursts: amount.bursts / 2, waitedUs: amount.waitedUs / 2, seconds: amount.seconds / 2 };

function sum(amounts: readonly Amount[]): Amount {
  let { bursts, waitedUs, seconds } = none;
  for (const one of amounts) {
    bursts += one.bursts;
    waitedUs += one.waitedUs;
    seconds += one.seconds;
  }
  return { bursts, waitedUs, seconds };
}
