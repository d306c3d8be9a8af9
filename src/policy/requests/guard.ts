// Requests that were late although their engine's steps were paced for their objective: a slow check of what pacing assumes.
// It asks for evidence, because the p99 of a few requests is their largest value, and reacts by steps.
import {
  allowedAbove,
  quantileOf,
  type RequestKind,
  type RequestLimits,
  type RequestsSeen,
  statedKinds,
} from "./requests.ts";

export interface Guard {
  /** Slices come so many times as rarely. */
  readonly factor: number;
  /** By kind, since the factor last changed: values beside slices, and those above the limit. */
  readonly counts: Readonly<Partial<Record<RequestKind, Counts>>>;
}

interface Counts {
  readonly values: number;
  readonly above: number;
}

export const noGuard: Guard = { factor: 1, counts: {} };

/** A violation makes slices rarer by this factor, and time makes them more frequent again. */
const STEP = 1.25;
const RECOVERY_PER_S = 0.995;
/** From here on no slices come. */
const MAX_FACTOR = 4;
/** It takes half a minute to come back from here. */
const STOPPED_FACTOR = 4.65;
/** Chance of as many values above the limit, if the allowed part is: below it they are too many. */
const SIGNIFICANCE = 0.01;
/** Older evidence counts half after this time. */
const HALF_LIFE_MS = 30_000;

/** `shares`: slices were in force since the last look. */
export function withCounts(
  was: Guard,
  limits: RequestLimits,
  requests: RequestsSeen,
  { passedMs, shares }: { readonly passedMs: number; readonly shares: boolean },
): Guard {
  const factor = Math.max(1, was.factor * RECOVERY_PER_S ** (passedMs / 1000));
  if (!shares) return { ...was, factor };
  const kept = 0.5 ** (passedMs / HALF_LIFE_MS);
  const counts = Object.fromEntries(
    statedKinds(limits).map((kind) => {
      const { values = 0, above = 0 } = was.counts[kind] ?? {};
      const seen = requests?.[kind];
      return [
        kind,
        { values: kept * values + (seen?.values ?? 0), above: kept * above + (seen?.above ?? 0) },
      ];
    }),
  );
  const late = statedKinds(limits).some((kind) => {
    const quantile = quantileOf(limits, kind);
    const own = counts[kind];
    // How many values are above a mean says little of it. Its pacing follows the mean of steps.
    return own && quantile !== "mean" && isTooMany(own, allowedAbove(quantile));
  });
  if (!late) return { factor, counts };
  const next = factor * STEP;
  return { factor: next >= MAX_FACTOR ? STOPPED_FACTOR : next, counts: {} };
}

/** Infinity: violations went on although slices had become as rare as they get. */
export const guardOf = ({ factor }: Guard): number =>
  factor >= MAX_FACTOR ? Number.POSITIVE_INFINITY : factor;

/** One-sided binomial test, by the Poisson distribution, whose tail is the longer one: it asks for a little more evidence. */
function isTooMany({ values, above }: Counts, allowed: number): boolean {
  const count = Math.floor(above);
  if (count < 2) return false;
  const mean = allowed * values;
  let term = Math.exp(-mean);
  let fewer = 0;
  for (let k = 0; k < count; k++) {
    fewer += term;
    term *= mean / (k + 1);
  }
  return 1 - fewer < SIGNIFICANCE;
}
