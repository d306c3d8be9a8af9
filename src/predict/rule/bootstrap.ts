import { mulberry32 } from "#core";

const RESAMPLES = 2000;

/** This is a paired bootstrap (Efron and Tibshirani, 1993). Cases have to be independent. */
export function betterIn(ours: readonly number[], theirs: readonly number[]): number {
  const random = mulberry32(1);
  let better = 0;
  for (let n = 0; n < RESAMPLES; n++) {
    let gain = 0;
    for (let k = 0; k < ours.length; k++) {
      const i = Math.floor(random() * ours.length);
      gain += (theirs[i] ?? 0) - (ours[i] ?? 0);
    }
    if (gain > 0) better++;
  }
  return better / RESAMPLES;
}
