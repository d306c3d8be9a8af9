// bin/cotenant and bin/cotenant-lab in a clone in which nothing was installed or built.
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";

function clone(...parts: readonly string[]) {
  const root = realpathSync(mkdtempSync(`${tmpdir()}/cotenant-clone-`));
  onTestFinished(() => rmSync(root, { recursive: true }));
  for (const part of ["bin", "package.json", ...parts])
    cpSync(part, `${root}/${part}`, { recursive: true });
  return root;
}

test.each([
  {
    what: "nothing built",
    program: "cotenant",
    argv: ["status"],
    parts: [],
    says: '/ is not built. Run "npm start" there once: it installs, builds and runs a demo.',
  },
  {
    what: "nothing built",
    program: "cotenant-lab",
    argv: ["bench", "--names"],
    parts: [],
    says: '/ is not built. Run "npm start" there once: it installs, builds and runs a demo.',
  },
  {
    what: "the bundle, without its packages",
    program: "cotenant",
    argv: ["status"],
    parts: ["dist"],
    says: ' lacks the package "koffi". Run "npm install" there.',
  },
])("$program in a clone with $what says what to do", ({ program, argv, parts, says }) => {
  const root = clone(...parts);
  const { status, stdout, stderr } = spawnSync(`${root}/bin/${program}`, argv, {
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: "",
    stderr: `${program}: ${root}${says}\n`,
  });
});
