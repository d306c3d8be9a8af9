import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { cotenant } from "../commands.ts";
import { manual } from "./manual.ts";
import { commandsOf } from "./program.ts";

const commands = await commandsOf(cotenant);
const other = { ...cotenant, name: "other-program", about: "another program" };
const both = [cotenant, other].map((program) => ({ program, commands }));

test("names each command of each program, and each of its options", () => {
  const page = manual(both).replaceAll("\\-", "-");
  for (const { name, options } of commands) {
    for (const program of ["cotenant", "other-program"])
      expect(page).toContain(`\n.SS ${program} ${name}\n`);
    for (const option of Object.keys(options)) expect(page).toContain(`\\fB--${option}\\fR`);
  }
});

const groff = spawnSync("groff", ["--version"]).status === 0;
if (!groff) console.error("SKIPPED: the manual page in groff, which is not installed.");

test.skipIf(!groff)("is set without a warning, and as it was written", () => {
  const { stdout, stderr, status } = spawnSync("groff", ["-ww", "-man", "-Tascii", "-P-c"], {
    input: manual(both),
    encoding: "utf8",
  });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout).toContain("cotenant run --class high -- python3 serve.py");
  expect(stdout).toContain("/etc/cotenant/grants.json");
  expect(stdout).not.toMatch(/\w-$/m); // a word that goes on in the next line
});
