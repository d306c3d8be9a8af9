// The example of a help text that takes longest: it waits more than it computes, and runs beside the others.
import { readdirSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { loadCommands } from "#cli";
import { install } from "./installed.ts";

const { home, sh, remove } = install();
afterAll(remove);

test("cotenant bench synthetic --gpu soft: measures, and leaves a result", async () => {
  const example = "cotenant bench synthetic --gpu soft";
  expect((await loadCommands()).flatMap((one) => one.examples ?? [])).toContain(example);
  const { status, stdout, stderr } = sh(example);
  expect(status, stderr).toBe(0);
  expect(stdout).toContain("strict-isolated");
  expect(readdirSync(home).filter((name) => name.endsWith(".json"))).toHaveLength(1);
});
