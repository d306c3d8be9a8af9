import { expect, test } from "vitest";
import { keyOf, Refusals } from "./refusals.ts";

const image = (text: string) => new TextEncoder().encode(text);

test("a request that was refused has its reason, another has none", () => {
  const refusals = new Refusals();
  expect(refusals.all).toEqual([]);
  refusals.add("a", "too long");
  expect(refusals.of("a")).toBe("too long");
  expect(refusals.of("b")).toBeUndefined();
  expect(refusals.all).toEqual([["a", "too long"]]);
});

test("256 are remembered, and the oldest is forgotten for one more", () => {
  const refusals = new Refusals();
  for (let i = 0; i < 256; i++) refusals.add(`${i}`, `because of ${i}`);
  expect(refusals.of("0")).toBe("because of 0");
  refusals.add("256", "because of 256");
  expect(refusals.of("0")).toBeUndefined();
  expect(refusals.of("1")).toBe("because of 1");
  expect(refusals.of("256")).toBe("because of 256");
  expect(refusals.all).toHaveLength(256);
});

test("requests are the same where the kernel's name and the image are", () => {
  expect(keyOf("k", image("a"))).toBe(keyOf("k", image("a")));
  const different = [keyOf("k", image("a")), keyOf("k", image("b")), keyOf("l", image("a"))];
  expect(new Set([...different, keyOf("ka", image(""))]).size).toBe(4);
  expect(keyOf("k", image("ab"))).not.toBe(keyOf("ka", image("b")));
});
