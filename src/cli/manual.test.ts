import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { loadCommands } from "./commands.ts";
import { manual } from "./manual.ts";

const forPeople = await loadCommands();

test("names each command and each of its options", () => {
  const page = manual(forPeople).replaceAll("\\-", "-");
  for (const { name, options } of forPeople) {
    expect(page).toContain(`\n.SS cotenant ${name}\n`);
    for (const option of Object.keys(options)) expect(page).toContain(`\\fB--${option}\\fR`);
  }
});

const groff = spawnSync("groff", ["--version"]).status === 0;
if (!groff) console.error("SKIPPED: the manual page in groff, which is not installed.");

test.skipIf(!groff)("is set without a warning, and as it was written", () => {
  const { stdout, stderr, status } = spawnSync("groff", ["-ww", "-man", "-Tascii", "-P-c"], {
    input: manual(forPeople),
    encoding: "utf8",
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout).toContain("cotenant run --class high -- python3 serve.py");
});
