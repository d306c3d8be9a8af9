import { expect, test } from "vitest";
import { AskedShares } from "./asked-shares.ts";

const third = { share: 0.3, from: "the Pairing a/b" };

test("a share lasts until it is taken back, or not repeated for a minute", () => {
  let now = 0;
  const shares = new AskedShares(() => now);
  expect(shares.give("GPU-1", "pod-1", third)).toBe(true);
  now = 50e9;
  expect(shares.give("GPU-1", "pod-1", third)).toBe(false);
  now = 109e9;
  expect(shares.of("GPU-1", "pod-1")).toEqual(third);
  now = 111e9;
  expect(shares.of("GPU-1", "pod-1")).toBe(undefined);
  expect(shares.give("GPU-1", "pod-1", third)).toBe(true);
  expect([shares.take("GPU-1", "pod-1"), shares.take("GPU-1", "pod-1")]).toEqual([true, false]);
  expect(shares.of("GPU-1", "pod-1")).toBe(undefined);
});

test("each pod on each GPU has its own", () => {
  const shares = new AskedShares(() => 0);
  shares.give("GPU-1", "pod-1", third);
  shares.give("GPU-1", "pod-2", { ...third, share: 0.5 });
  expect([shares.of("GPU-1", "pod-2")?.share, shares.of("GPU-2", "pod-1")]).toEqual([
    0.5,
    undefined,
  ]);
  expect(shares.give("GPU-1", "pod-1", { ...third, share: 0.4 })).toBe(true);
});
