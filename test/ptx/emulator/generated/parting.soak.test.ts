// As parting.test.ts, with many more programs.
import { expect, test } from "vitest";
import { judgeAll } from "./parting.ts";

const PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 10_000);
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test(`${PROGRAMS} kernels whose lanes part`, () => {
  const count = judgeAll(PROGRAMS, SEED);
  console.log(JSON.stringify(count));
  expect(count.legal + count.refused + count["never end"]).toBe(PROGRAMS);
});
