// As arrivals.test.ts, with many more programs.
import { expect, test } from "vitest";
import { judgeArrivals } from "./arrivals.ts";

const PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 5_000);
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test(`${PROGRAMS} kernels that leave arrivals in barriers`, () => {
  const count = judgeArrivals(PROGRAMS, SEED);
  console.log(JSON.stringify(count));
  expect(count.legal + count.refused + count.fails).toBe(PROGRAMS);
});
