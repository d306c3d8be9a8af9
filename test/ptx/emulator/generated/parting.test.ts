// Random kernels whose lanes part and leave: what the legality check lets pass is right in its variants, stopped at
// every block.
import { expect, test } from "vitest";
import { judgeAll } from "./parting.ts";
import { leavingProgram } from "./parting-programs.ts";

const PROGRAMS = 300;

test("kernels whose lanes part wait for no lane that has left", () => {
  const { legal, refused } = judgeAll(PROGRAMS, 1);
  // The test is worth something only if there are many of both.
  expect(legal).toBeGreaterThan(PROGRAMS / 8);
  expect(refused).toBeGreaterThan(PROGRAMS / 8);
});

test("behind an early exit, barriers of the warp wait for the lanes that stay", () => {
  const { legal, refused } = judgeAll(PROGRAMS / 2, 1, leavingProgram);
  expect(legal).toBeGreaterThan(PROGRAMS / 16);
  expect(refused).toBeGreaterThan(0);
});
