// Tables of instructions, and values where it is easy to be wrong.
import { expect, test } from "vitest";
import { apply } from "./instruction.ts";

export const MAX = 0x7fffffff;
export const MIN = -0x80000000;
export const INF = Number.POSITIVE_INFINITY;
export const NAN = Number.NaN;
export const MAX_F32 = 3.4028234663852886e38;
export const TINY_F32 = 2 ** -149;

type Row = [
  operation: string,
  inputs: (number | bigint)[],
  expected: number | bigint,
  out?: string,
];

/** A test for each row. */
export const check = (rows: readonly Row[]) => {
  test.each(rows)("%s %s -> %s", (operation, inputs, expected, out) => {
    expect(apply(operation, inputs, out)).toEqual(expected);
  });
};
