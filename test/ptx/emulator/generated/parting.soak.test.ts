// As parting.test.ts, with many more programs.
import { expect, test } from "vitest";
import { judgeAll } from "./parting.ts";
import { leavingProgram, partingProgram } from "./parting-programs.ts";

const PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 10_000);
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test.each([
  { lanes: "part", kind: partingProgram },
  { lanes: "leave first", kind: leavingProgram },
])(`${PROGRAMS} kernels whose lanes $lanes`, ({ kind }) => {
  const count = judgeAll(PROGRAMS, SEED, kind);
  console.log(JSON.stringify(count));
  expect(count.legal + count.refused + count["never end"]).toBe(PROGRAMS);
});
