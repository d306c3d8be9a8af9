// Boxes of tensors, loaded and stored, at once and late.
import { expect, test } from "vitest";
import { boxes } from "./box-cases.ts";
import { runCase } from "./hopper-case.ts";

test.each(boxes.map((one) => [one.name, one] as const))("%s", (_name, one) => {
  for (const seed of [0, 1]) expect(runCase(one, seed)).toEqual(one.expected);
});
