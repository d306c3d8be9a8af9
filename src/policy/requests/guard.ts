// Requests that were late although their engine's steps were paced for their objective: a slow check of what pacing assumes.
// It asks for evidence, because the p99 of a few requests is their largest value, and reacts by steps.
import { ALLOWED } from "../evidence.ts";
import type { RequestKind, RequestsSeen } from "./requests.ts";

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
/** So many values above the limit have a chance of less than this if 1 % are. */
const SIGNIFICANCE = 0.01;
/** Older evidence counts half after this time. */
const HALF_LIFE_MS = 30_000;

/** `shares`: slices were in force since the last look. */
export function withCounts(
  was: Guard,
  kinds: readonly RequestKind[],
  requests: RequestsSeen,
  { passedMs, shares }: { readonly passedMs: number; readonly shares: boolean },
): Guard {
  const factor = Math.max(1, was.factor * RECOVERY_PER_S ** (passedMs / 1000));
  if (!shares) return { ...was, factor };
  const kept = 0.5 ** (passedMs / HALF_LIFE_MS);
  const counts = Object.fromEntries(
    kinds.map((kind) => {
      const { values = 0, above = 0 } = was.counts[kind] ?? {};
      const seen = requests?.[kind];
      return [
        kind,
        { values: kept * values + (seen?.values ?? 0), above: kept * above + (seen?.above ?? 0) },
      ];
    }),
  );
  const late = Object.values(counts).some(isTooMany);
  if (!late) return { factor, counts };
  const next = factor * STEP;
  return { factor: next >= MAX_FACTOR ? STOPPED_FACTOR : next, counts: {} };
}

/** Infinity: violations went on although slices had become as rare as they get. */
export const guardOf = ({ factor }: Guard): number =>
  factor >= MAX_FACTOR ? Number.POSITIVE_INFINITY : factor;

/** One-sided binomial test, by the Poisson distribution of rare events. */
function isTooMany({ values, above }: Counts): boolean {
  const count = Math.floor(above);
  if (count < 2) return false;
  const mean = ALLOWED * values;
  let term = Math.exp(-mean);
  let fewer = 0;
  for (let k = 0; k < count; k++) {
    fewer += term;
    term *= mean / (k + 1);
  }
  return 1 - fewer < SIGNIFICANCE;
}
