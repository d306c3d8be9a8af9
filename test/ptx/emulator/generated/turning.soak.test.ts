// As turning.test.ts, with many more programs.
import { expect, test } from "vitest";
import { judgeTurns } from "./turning.ts";

const PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 10_000);
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test(`${PROGRAMS} kernels whose blocks take turns`, () => {
  const count = judgeTurns(PROGRAMS, SEED);
  console.log(JSON.stringify(count));
  expect(Object.values(count).reduce((a, b) => a + b)).toBe(PROGRAMS);
});
