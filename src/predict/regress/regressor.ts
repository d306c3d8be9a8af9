// Rows are in standard units.
import type { Random } from "#core";

/** The part rises, is more than 0 and at most 1. */
export type Progress = (part: number) => void;

/** `State` is plain JSON, so that a model can be a file. */
export interface Regressor<State> {
  learn(x: readonly Float64Array[], y: Float64Array, random: Random, told?: Progress): State;
  open(state: State): (row: Float64Array) => number;
}

export const meanOf = (values: Float64Array): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

export function crossValidationError<State>(
  { learn, open }: Regressor<State>,
  x: readonly Float64Array[],
  y: Float64Array,
  parts: readonly (readonly number[])[],
  random: Random,
): number {
  let sum = 0;
  for (const part of parts) {
    const out = new Set(part);
    const kept = [...y.keys()].filter((i) => !out.has(i));
    const predict = open(learn(pick(x, kept), Float64Array.from(pick(y, kept)), random));
    for (const i of part) sum += (predict(x[i] as Float64Array) - (y[i] as number)) ** 2;
  }
  return sum / y.length;
}

const pick = <T>(values: ArrayLike<T>, rows: readonly number[]): T[] =>
  rows.map((i) => values[i] as T);
