import { expect, test } from "vitest";
import { kept } from "./kept.ts";

const made = (change = {}) => ({
  name: "a",
  at: [1, 2],
  in: { much: Number.NaN, none: undefined },
  ...change,
});

test("what says the same is the same object", () => {
  const before = made();
  expect(kept(before, made())).toBe(before);
  expect(kept(undefined, before)).toBe(before);
});

test.each([
  { name: "b" },
  { at: [1, 3] },
  { at: [1, 2, 3] },
  { in: { much: 1, none: undefined } },
  { in: { much: Number.NaN } },
  { in: undefined },
  { more: 1 },
])("what differs by %j is another one", (change) => {
  const now = made(change);
  expect(kept(made(), now)).toBe(now);
});
