// Whether the load of a high client has changed. The last second is compared with the usual load before it, by bursts and
// by the time that they waited for the GPU. A change must be larger than chance explains. How long bursts lasted does not
// count, because a program's own CPU time drifts. Only time beside best-effort work counts, because a burst alone is
// shorter.

interface Amount {
  readonly bursts: number;
  readonly waitedUs: number;
  readonly seconds: number;
}

export interface Load {
  readonly usual: Amount;
  /** The newest looks, together about a second. */
  readonly recent: readonly Amount[];
  /** Seconds since a burst ended. */
  readonly lastBurst: number;
  readonly change: "rose" | "fell" | undefined;
}

/** A smaller change is none. */
const FACTOR = 1.5;
/** A change is at least this many standard deviations of a Poisson count. */
const SIGNIFICANT = 4;
/** A smaller change, as a part of a whole GPU, does not matter. */
const WAITED_CHANGE = 0.1;
const RECENT_LOOKS = 4;
/** The usual load is known after so many seconds, and half of it is forgotten after so many. */
const KNOWN_AFTER_S = 3;
const FORGOTTEN_AFTER_S = 60;
const QUIET_AFTER_S = 60;

const none: Amount = { bursts: 0, waitedUs: 0, seconds: 0 };

export const noLoad: Load = {
  usual: none,
  recent: [],
  lastBurst: Number.POSITIVE_INFINITY,
  change: undefined,
};

export const isQuiet = ({ lastBurst }: Load): boolean => lastBurst > QUIET_AFTER_S;

/** Whether the loads of two periods differ. A period may be too short to tell. */
export function differ(
  one: Pick<Amount, "bursts" | "seconds">,
  other: Pick<Amount, "bursts" | "seconds">,
): boolean {
  if (one.seconds < KNOWN_AFTER_S || other.seconds === 0) return false;
  const part = one.seconds / other.seconds;
  const expected = other.bursts * part;
  const randomSpread = SIGNIFICANT * Math.sqrt(Math.max(expected, one.bursts) * (1 + part));
  return (
    Math.max(one.bursts, expected) > FACTOR * Math.min(one.bursts, expected) &&
    Math.abs(one.bursts - expected) > randomSpread
  );
}

export function withLoad(was: Load, now: Amount, counts: boolean): Load {
  const awoke = now.bursts > 0 && isQuiet(was);
  const lastBurst = now.bursts > 0 ? 0 : was.lastBurst + now.seconds;
  if (!counts) return { ...was, lastBurst, change: awoke ? "rose" : undefined };
  const recent = [...was.recent, now];
  const former = recent.length > RECENT_LOOKS ? recent.shift() : undefined;
  const usual = former ? sum([age(was.usual), former]) : was.usual;
  return { usual, recent, lastBurst, change: awoke ? "rose" : changeOf(usual, sum(recent)) };
}

function changeOf(usual: Amount, recent: Amount): Load["change"] {
  if (usual.seconds < KNOWN_AFTER_S) return undefined;
  const part = recent.seconds / usual.seconds;
  const expected = usual.bursts * part;
  const randomSpread = SIGNIFICANT * Math.sqrt(expected);
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

/** In a plain loop: it is done for each high client four times a second. */
function sum(amounts: readonly Amount[]): Amount {
  let { bursts, waitedUs, seconds } = none;
  for (const one of amounts) {
    bursts += one.bursts;
    waitedUs += one.waitedUs;
    seconds += one.seconds;
  }
  return { bursts, waitedUs, seconds };
}
