// Whether at most 1 % of bursts, or another allowed share of values, are above a limit. Bursts come a few at a time and the answer is wanted as soon as
// possible, so this is a sequential test: a CUSUM of the log likelihood ratio of each of a few larger shares against 1 %.
// Many bursts above the limit are noticed within a second, slightly too many within a thousand bursts. One among a few
// decides nothing, but is remembered.

/** The share of bursts that may be above the limit. */
export const ALLOWED = 0.01;
/** Shares that are tested against it. */
const tooMany = [0.02, 0.05, 0.2];
/** One of them must explain the bursts better by this factor: e^8, 3,000 to 1. */
const BROKEN_AT = 8;
/** Fewer bursts above may have one common cause that is not the level, such as a pause of the machine. */
const MIN_ABOVE = 5;
/** With none above among this many, a share of 1 % has a chance of 5 %. */
const MIN_SPOTLESS_BURSTS = 300;
const SURE = 0.05;
const MIN_BURSTS = 50;
/** With more bursts, half of the evidence is forgotten, because old bursts say little about the present. */
const MAX_BURSTS = 4000;

export interface Evidence {
  readonly bursts: number;
  readonly above: number;
  /** A log likelihood ratio for each of `tooMany`, never below 0. */
  readonly against: readonly number[];
  /** Bursts above since any of them left 0. */
  readonly recentlyAbove: number;
}

export const noEvidence: Evidence = {
  bursts: 0,
  above: 0,
  against: tooMany.map(() => 0),
  recentlyAbove: 0,
};

/** `allowed`: the share that may be above, between 0 and 1. The evidence has to be about one such share from its start. */
export function withBursts(
  evidence: Evidence,
  bursts: number,
  above: number,
  allowed = ALLOWED,
): Evidence {
  const against = tooMany.map((tested, i) => {
    const share = allowed === ALLOWED ? tested : timesTheOdds(allowed, tested / ALLOWED);
    const ratio =
      above * Math.log(share / allowed) + (bursts - above) * Math.log((1 - share) / (1 - allowed));
    return Math.max(0, (evidence.against[i] ?? 0) + ratio);
  });
  const keep = evidence.bursts > MAX_BURSTS ? MAX_BURSTS / 2 / evidence.bursts : 1;
  return {
    bursts: evidence.bursts * keep + bursts,
    above: evidence.above * keep + above,
    against,
    recentlyAbove: Math.max(...against) > 0 ? evidence.recentlyAbove + above : 0,
  };
}

/** Compares by odds, because twice a share such as 0.5 is no share. */
function timesTheOdds(share: number, factor: number): number {
  const odds = (factor * share) / (1 - share);
  return odds / (1 + odds);
}

/** More than the allowed share are above. */
export const isBroken = ({ against, recentlyAbove }: Evidence): boolean =>
  recentlyAbove >= MIN_ABOVE && Math.max(...against) >= BROKEN_AT;

/** At most the allowed share were above, among enough bursts to say so. */
export const holds = ({ bursts, above }: Evidence, allowed = ALLOWED): boolean =>
  bursts >= MIN_SPOTLESS_BURSTS && above <= allowed * bursts;

/** Nothing speaks against it so far, which is enough for a level that held before. */
export const holdsSoFar = ({ bursts, above }: Evidence, allowed = ALLOWED): boolean =>
  bursts >= MIN_BURSTS && above <= allowed * bursts;

/** Few enough were above for the share to be surely below the allowed one. */
export const holdsWithMargin = ({ bursts, above }: Evidence, allowed = ALLOWED): boolean =>
  probabilityOfAtMost(above, allowed * bursts) <= SURE;

/** By the Poisson distribution, which approximates the binomial here; by the normal one if many are expected. */
function probabilityOfAtMost(most: number, expected: number): number {
  if (expected > 500) return most < expected - 1.645 * Math.sqrt(expected) ? SURE : 1;
  let term = Math.exp(-expected);
  let sum = term;
  for (let k = 1; k <= most && sum <= SURE; k++) {
    term *= expected / k;
    sum += term;
  }
  return sum;
}
