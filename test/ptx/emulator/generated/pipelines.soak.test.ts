// As pipelines.test.ts, with many more programs.
import { expect, test } from "vitest";
import { judgeAll } from "./pipelines.ts";

const PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 1_000);
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test(`${PROGRAMS} kernels with rings of copies`, () => {
  const count = judgeAll(PROGRAMS, SEED);
  console.log(JSON.stringify(count));
  expect(count.legal + count.refused + count.fails).toBe(PROGRAMS);
});
