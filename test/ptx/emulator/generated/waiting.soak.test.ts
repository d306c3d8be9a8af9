// As waiting.test.ts, with many more programs.
import fc from "fast-check";
import { expect, test } from "vitest";
import { judge } from "./waiting.ts";
import { drawingProgram, gridOf, waitingProgram, waitingSource } from "./waiting-programs.ts";

const PROGRAMS = Number(process.env.COTENANT_PROGRAMS ?? 20_000);
const SEED = Number(process.env.COTENANT_SEED ?? 1);

test.each([
  { which: "all kinds of steps", programs: waitingProgram },
  { which: "drawn numbers", programs: drawingProgram },
])(`${PROGRAMS} kernels with and without waits for other blocks: $which`, ({ programs }) => {
  const count = {
    legal: 0,
    waiting: 0,
    "refused though one block at a time would do": 0,
  };
  fc.assert(
    fc.property(programs, (program) => {
      const source = waitingSource(program);
      const { wrong, slice, ends, alone } = judge(source, gridOf(program));
      if (wrong !== "") expect.fail(`${wrong}\n${source}`);
      if (ends && slice) count.legal += 1;
      if (ends && !alone) count.waiting += 1;
      if (alone && !slice) count["refused though one block at a time would do"] += 1;
    }),
    { numRuns: PROGRAMS, seed: SEED },
  );
  console.log(JSON.stringify(count));
});
