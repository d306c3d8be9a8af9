// Random kernels with and without waits for other blocks: what the legality check lets pass comes to the same end one
// block after the other.
import fc from "fast-check";
import { expect, test } from "vitest";
import { judge } from "./waiting.ts";
import { gridOf, waitingProgram, waitingSource } from "./waiting-programs.ts";

const PROGRAMS = 150;

test("kernels that are legal end without blocks that have not been started", () => {
  let legal = 0;
  let waiting = 0;
  fc.assert(
    fc.property(waitingProgram, (program) => {
      const source = waitingSource(program);
      const { wrong, slice, ends, alone } = judge(source, gridOf(program));
      if (wrong !== "") expect.fail(`${wrong}\n${source}`);
      if (slice && ends) legal += 1;
      if (ends && !alone) waiting += 1;
    }),
    { numRuns: PROGRAMS, seed: 1 },
  );
  // The test is worth something only if there are many of both.
  expect(legal).toBeGreaterThan(PROGRAMS / 8);
  expect(waiting).toBeGreaterThan(PROGRAMS / 20);
});
