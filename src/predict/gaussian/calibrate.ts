// Widths follow from errors on training rows that were left out (split conformal prediction, Vovk
// et al.: the quantile that also holds for one more row). If all workloads were measured, each row
// is left out by itself; for a new workload, all its rows with its family's (families.ts).

import { conformalQuantile } from "#core";
import { INTERVAL } from "../data/predictor.ts";
import { beside } from "../data/several.ts";
import { familiesOf } from "../likeness/families.ts";
import { BASIS, deviation, fitBurdens, type Prepared, type Target, type Tuned } from "./burdens.ts";
import { fromScale } from "./link.ts";

export interface Widths {
  readonly known: number;
  readonly unmeasured: number;
}

export function widthsOf(prepared: Prepared, tuned: Tuned): Widths {
  const { about, leftOut, without } = fitBurdens(prepared, tuned, BASIS);
  const known = conformalQuantile(
    missesOf(tuned, about, prepared.targets, (row) => [
      leftOut.mean[row] as number,
      leftOut.variance[row] as number,
    ]),
    INTERVAL,
  );
  const families = familiesOf(
    prepared.known.length,
    (a, b) => prepared.between[a * prepared.known.length + b] as number,
  );
  const far = Array.from({ length: Math.max(...families) + 1 }, (_, family) => {
    const rows = rowsWith(prepared, families, family);
    if (rows.length === prepared.retained.length) return [];
    const moments = without(rows);
    const place = new Map(rows.map((row, k) => [row, k]));
    return missesOf(
      tuned,
      about,
      prepared.targets.filter(({ from }) => place.has(from)),
      (row) => [
        moments.mean[place.get(row) as number] as number,
        moments.variance[place.get(row) as number] as number,
      ],
    );
  }).flat();
  return {
    known,
    unmeasured: Math.max(known, far.length > 0 ? conformalQuantile(far, INTERVAL) : known),
  };
}

function rowsWith(
  { points, groups }: Prepared,
  families: readonly number[],
  family: number,
): readonly number[] {
  const out = new Set<number>();
  groups.forEach((group, i) => {
    if (
      families[points.target[i] as number] === family ||
      families[points.neighbour[i] as number] === family
    )
      out.add(group);
  });
  return [...groups.keys()].filter((i) => out.has(groups[i] as number));
}

/** Errors are in the stated standard deviations, each without the target's colocation. */
export function surprises(prepared: Prepared, tuned: Tuned): readonly number[] {
  const { about, leftOut } = fitBurdens(prepared, tuned, BASIS);
  return missesOf(tuned, about, prepared.targets, (row) => [
    leftOut.mean[row] as number,
    leftOut.variance[row] as number,
  ]);
}

const missesOf = (
  tuned: Tuned,
  about: Float64Array,
  targets: readonly Target[],
  momentsOf: (row: number) => readonly [mean: number, variance: number],
): number[] =>
  targets.map(({ from, count, retained }) => {
    const pairs = Array.from({ length: count }, (_, k) => {
      const [mean, variance] = momentsOf(from + k);
      const z = mean + (about[from + k] as number);
      return { retained: fromScale(z, tuned.softness), sd: deviation(z, variance, tuned) };
    });
    const whole = count === 1 ? pairs[0] : beside(pairs, tuned);
    return whole ? Math.abs(retained - whole.retained) / whole.sd : 0;
  });
