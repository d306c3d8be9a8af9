// A sequential test suits bursts that come a few at a time: a CUSUM of the log likelihood ratio of
// a few larger shares against 1 %. Many bursts above the limit show within a second.

export const ALLOWED = 0.01;
const tooMany = [0.02, 0.05, 0.2];
/** One of them must explain the bursts better by this factor: e^8, 3,000 to 1. */
const BROKEN_AT = 8;
/** Fewer bursts above may have one common cause, such as a pause of the machine. */
const MIN_ABOVE = 5;
const MIN_SPOTLESS_BURSTS = 300;
const SURE = 0.05;
const MIN_BURSTS = 50;
const MAX_BURSTS = 4000; // half is forgotten then

export interface Evidence {
  readonly bursts: number;
  readonly above: number;
  readonly against: readonly number[]; // log likelihood ratios are never below 0
  readonly recentlyAbove: number; // counts since any of `against` left 0
}

export const noEvidence: Evidence = {
  bursts: 0,
  above: 0,
  against: tooMany.map(() => 0),
  recentlyAbove: 0,
};

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

/** Odds are compared, because twice a share such as 0.5 is no share. */
function timesTheOdds(share: number, factor: number): number {
  const odds = (factor * share) / (1 - share);
  return odds / (1 + odds);
}

export const isBroken = ({ against, recentlyAbove }: Evidence): boolean =>
  recentlyAbove >= MIN_ABOVE && Math.max(...against) >= BROKEN_AT;

export const holds = ({ bursts, above }: Evidence, allowed = ALLOWED): boolean =>
  bursts >= MIN_SPOTLESS_BURSTS && above <= allowed * bursts;

export const holdsSoFar = ({ bursts, above }: Evidence, allowed = ALLOWED): boolean =>
  bursts >= MIN_BURSTS && above <= allowed * bursts;

export const holdsWithMargin = ({ bursts, above }: Evidence, allowed = ALLOWED): boolean =>
  probabilityOfAtMost(above, allowed * bursts) <= SURE;

/** The Poisson distribution approximates the binomial; the normal one if many are expected. */
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
