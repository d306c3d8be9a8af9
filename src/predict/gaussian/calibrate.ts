// How wide bounds must be, from how far off the model is about training rows that were left out (split conformal
// prediction: Vovk et al.; the quantile that also holds for one more row).
//
// Two cases. Of a pair whose workloads both were measured beside other neighbours, each row is left out by itself. Of a
// workload that was never measured, all rows of a workload are left out, and those of its nearest kin with it: tables
// hold a model at several batch sizes (KACE's at three), and the others would give away what nobody will know.

import { conformalQuantile } from "#core";
import { INTERVAL } from "../predictor.ts";
import { BASIS, deviation, fitted, type Prepared, type Tuned } from "./burdens.ts";
import { fromScale } from "./link.ts";
import type { Moments } from "./process.ts";

/** Half widths of intervals, in the standard deviations that the model states. */
export interface Widths {
  readonly known: number;
  readonly stranger: number;
}

const KIN = 2;

export function widthsOf(prepared: Prepared, tuned: Tuned): Widths {
  const { about, leftOut, without } = fitted(prepared, tuned, BASIS);
  const rows = [...prepared.retained.keys()];
  const known = conformalQuantile(misses(prepared, tuned, about, rows, leftOut), INTERVAL);
  const strange = families(prepared).flatMap(([head, kin]) => {
    const out = rows.filter((i) => involves(prepared, i, kin));
    const missed = misses(prepared, tuned, about, out, without(out));
    // Of the kin's own rows, those that the head has no part in are not what is asked.
    return out.flatMap((i, k) =>
      involves(prepared, i, new Set([head])) ? [missed[k] as number] : [],
    );
  });
  return { known, stranger: Math.max(known, conformalQuantile(strange, INTERVAL)) };
}

/** Errors of rows that were not learned from, in the standard deviations that the model states for them. */
export function surprises(prepared: Prepared, tuned: Tuned): Float64Array {
  const { about, leftOut } = fitted(prepared, tuned, BASIS);
  return misses(prepared, tuned, about, [...prepared.retained.keys()], leftOut);
}

const misses = (
  { retained }: Prepared,
  tuned: Tuned,
  about: Float64Array,
  rows: readonly number[],
  moments: Moments,
): Float64Array =>
  Float64Array.from(rows, (row, k) => {
    const z = (moments.mean[k] as number) + (about[row] as number);
    const sd = deviation(z, moments.variance[k] as number, tuned);
    return Math.abs((retained[row] as number) - fromScale(z, tuned.softness)) / sd;
  });

const involves = ({ points }: Prepared, row: number, these: ReadonlySet<number>): boolean =>
  these.has(points.target[row] as number) || these.has(points.neighbour[row] as number);

/** Each workload with itself and its nearest kin. */
function families({ between }: Prepared): readonly (readonly [number, Set<number>])[] {
  const workloads = Math.sqrt(between.length);
  return Array.from({ length: workloads }, (_, head) => {
    const gap = (w: number) => between[head * workloads + w] as number;
    const others = Array.from({ length: workloads }, (_, w) => w).filter((w) => w !== head);
    others.sort((a, b) => gap(a) - gap(b));
    return [head, new Set([head, ...others.slice(0, KIN)])];
  });
}
