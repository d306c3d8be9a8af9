// Computes how wide intervals must be, from the model's errors on training rows that were left out (split conformal
// prediction, Vovk et al.: the quantile that also holds for one more row).
//
// There are two cases. For a pair of workloads that were both measured beside other neighbours, each row is left out by
// itself. For a workload that was never measured, all its rows are left out, together with those of the workloads
// nearest to it. Tables contain a model at several batch sizes (KACE's at three), and those rows would reveal what is
// not known of a new workload.

import { conformalQuantile } from "#core";
import { INTERVAL } from "../predictor.ts";
import { BASIS, deviation, fitBurdens, type Prepared, type Tuned } from "./burdens.ts";
import { fromScale } from "./link.ts";
import type { Moments } from "./process.ts";

/** Half widths of intervals, in the standard deviations that the model states. */
export interface Widths {
  readonly known: number;
  readonly stranger: number;
}

const KIN = 2;

export function widthsOf(prepared: Prepared, tuned: Tuned): Widths {
  const { about, leftOut, without } = fitBurdens(prepared, tuned, BASIS);
  const rows = [...prepared.retained.keys()];
  const known = conformalQuantile(misses(prepared, tuned, about, rows, leftOut), INTERVAL);
  const strange = families(prepared).flatMap(([head, kin]) => {
    const out = rows.filter((i) => involves(prepared, i, kin));
    const missed = misses(prepared, tuned, about, out, without(out));
    // Rows of a nearest workload without the head are left out of training, but their errors do not count.
    return out.flatMap((i, k) =>
      involves(prepared, i, new Set([head])) ? [missed[k] as number] : [],
    );
  });
  return { known, stranger: Math.max(known, conformalQuantile(strange, INTERVAL)) };
}

/** Errors of rows, each predicted without its group, in the standard deviations that the model states. */
export function surprises(prepared: Prepared, tuned: Tuned): Float64Array {
  const { about, leftOut } = fitBurdens(prepared, tuned, BASIS);
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

/** Each workload, with the set of itself and its nearest ones. */
function families({ between }: Prepared): readonly (readonly [number, Set<number>])[] {
  const workloads = Math.sqrt(between.length);
  return Array.from({ length: workloads }, (_, head) => {
    const gap = (w: number) => between[head * workloads + w] as number;
    const others = Array.from({ length: workloads }, (_, w) => w).filter((w) => w !== head);
    others.sort((a, b) => gap(a) - gap(b));
    return [head, new Set([head, ...others.slice(0, KIN)])];
  });
}
