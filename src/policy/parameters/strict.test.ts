import { expect, test } from "vitest";
import { usualRules } from "#protocol";
import { strict } from "./strict.ts";

test("before any burst, in mode isolated, strict gives the defaults that the interposer has by itself", () => {
  expect(strict.rules({ isolated: true, high: [] })).toEqual(usualRules);
});
