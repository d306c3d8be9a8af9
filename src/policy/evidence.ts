// Is a threshold passed by at most 1 % of bursts? Bursts come a few at a time and the answer is wanted as
// soon as they allow one, so it is a sequential test: for each of a few worse shares, how much better it
// explains what was seen than 1 % does (a CUSUM of the log likelihood ratio). Many bursts above tell within
// a second, slightly too many within a thousand bursts, and one among a few tells nothing but is kept.

/** What an objective allows above it. */
export const ALLOWED = 0.01;
/** Shares above the threshold that would be too many. */
const tooMany = [0.02, 0.05, 0.2];
/** How much better one of them must explain the bursts: e^8, 3,000 to 1. */
const BROKEN_AT = 8;
/** One stumble of the machine is not the level's doing. */
const LEAST_ABOVE = 5;
/** With none above among so many, a share of 1 % has a chance of 5 %. */
const ENOUGH = 300;
const SURE = 0.05;
const SOME = 50;
/** Then half of it is forgotten: what was long ago says little about now. */
const MOST = 4000;

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

export function withBursts(evidence: Evidence, bursts: number, above: number): Evidence {
  const against = tooMany.map((share, i) => {
    const ratio =
      above * Math.log(share / ALLOWED) + (bursts - above) * Math.log((1 - share) / (1 - ALLOWED));
    return Math.max(0, (evidence.against[i] ?? 0) + ratio);
  });
  const keep = evidence.bursts > MOST ? MOST / 2 / evidence.bursts : 1;
  return {
    bursts: evidence.bursts * keep + bursts,
    above: evidence.above * keep + above,
    against,
    recentlyAbove: Math.max(...against) > 0 ? evidence.recentlyAbove + above : 0,
  };
}

/** More than 1 % are above. */
export const isBroken = ({ against, recentlyAbove }: Evidence): boolean =>
  recentlyAbove >= LEAST_ABOVE && Math.max(...against) >= BROKEN_AT;

/** At most 1 % were above, among enough bursts to say so. */
export const holds = ({ bursts, above }: Evidence): boolean =>
  bursts >= ENOUGH && above <= ALLOWED * bursts;

/** Nothing against it so far: enough where the same held before. */
export const holdsSoFar = ({ bursts, above }: Evidence): boolean =>
  bursts >= SOME && above <= ALLOWED * bursts;

/** So few were above that the share is below 1 %: there is room. */
export const holdsWithMargin = ({ bursts, above }: Evidence): boolean =>
  probabilityOfAtMost(above, ALLOWED * bursts) <= SURE;

/** Poisson, which the binomial is here; normal, which Poisson is of so many. */
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
