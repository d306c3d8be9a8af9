import { expect, test } from "vitest";
import { AskedHolds } from "./asked-holds.ts";

test("a wish lasts until it is lifted, or not repeated for a minute", () => {
  let now = 0;
  const holds = new AskedHolds(() => now);
  expect(holds.hold("GPU-1", "no service has it")).toBe(true);
  now = 50e9;
  expect(holds.hold("GPU-1", "no service has it")).toBe(false);
  now = 109e9;
  expect(holds.reason("GPU-1")).toBe("no service has it");
  expect(holds.reason("GPU-2")).toBe(undefined);
  now = 111e9;
  expect(holds.reason("GPU-1")).toBe(undefined);
  expect(holds.hold("GPU-1", "again")).toBe(true);
  expect([holds.lift("GPU-1"), holds.lift("GPU-1"), holds.reason("GPU-1")]).toEqual([
    true,
    false,
    undefined,
  ]);
});
