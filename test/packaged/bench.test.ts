// The example of a help text that takes longest: it waits more than it computes, and runs concurrently with the others.
import { readdirSync } from "node:fs";
import { afterAll, expect, test } from "vitest";
import { commandsOf } from "#cli";
import { laboratory } from "#lab";
import { install } from "./installed.ts";

const { home, sh, remove } = install();
afterAll(remove);

test("cotenant-lab bench synthetic --gpu soft: measures, and leaves a result", async () => {
  const example = "cotenant-lab bench synthetic --gpu soft";
  expect((await commandsOf(laboratory)).flatMap((one) => one.examples ?? [])).toContain(example);
  const { status, stdout, stderr } = sh(example);
  expect(status, stderr).toBe(0);
  expect(stdout).toContain("strict-isolated");
  expect(readdirSync(home).filter((name) => name.endsWith(".json"))).toHaveLength(1);
});
