// The demo of `npm start` shows the effect of the gate.
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { emptyMachine } from "./machine.ts";

/** It compares times of 1.5 s each: on a machine that others keep busy it may take another look. */
test("in the demo the gate takes away most of what co-location does to the high client", {
  retry: 2,
}, async () => {
  const { cotenant, directory } = emptyMachine();
  const args = ["demo", "--seconds", "1.5", "--json"];
  const { status, stdout, stderr } = await cotenant(args, { TMPDIR: directory });
  expect(stderr).toMatch(/^demo: together, gated \(4 of 4\)$/m);
  expect(status).toBe(0);
  const { arrangements } = JSON.parse(stdout);
  const [alone, , free, gated] = arrangements;
  expect(arrangements.map((one: { arrangement: string }) => one.arrangement)).toEqual([
    "high alone",
    "best-effort alone",
    "together, no gate",
    "together, gated",
  ]);
  expect(alone.slowdown.serviceP50).toBe(1);
  expect(gated.requests).toBeGreaterThan(0);
  expect(gated.slowdown.requestP50).toBeLessThan(free.slowdown.requestP50);
  expect(gated.slowdown.serviceP50).toBeLessThan(free.slowdown.serviceP50);
  expect(gated.retained).toBeGreaterThan(0.1);
  expect(readdirSync(directory)).toEqual([]);
});
