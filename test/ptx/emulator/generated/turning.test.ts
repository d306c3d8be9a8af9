// Random kernels whose blocks take turns: what the legality check lets pass comes to the same end one block after the
// other, and in its variants.
import { expect, test } from "vitest";
import { judgeTurns } from "./turning.ts";

const PROGRAMS = 200;

test("blocks that take turns wait for no block that has not been started, if they are legal", () => {
  const { legal, waiting } = judgeTurns(PROGRAMS, 1);
  // The test is worth something only if there are many of both.
  expect(legal).toBeGreaterThan(PROGRAMS / 12);
  expect(waiting).toBeGreaterThan(PROGRAMS / 40);
});
