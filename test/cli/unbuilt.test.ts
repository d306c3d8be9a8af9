// bin/cotenant in a clone in which nothing was installed or built.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test } from "vitest";

function clone(...parts: readonly string[]) {
  const root = realpathSync(mkdtempSync(`${tmpdir()}/cotenant-clone-`));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(`${root}/bin`);
  for (const part of ["bin/cotenant", "package.json", ...parts])
    cpSync(part, `${root}/${part}`, { recursive: true });
  return root;
}

test.each([
  {
    what: "nothing built",
    parts: [],
    says: '/ is not built. Run "npm start" there once: it installs, builds and runs a demo.',
  },
  {
    what: "the bundle, without its packages",
    parts: ["dist"],
    says: ' lacks the package "koffi". Run "npm install" there.',
  },
])("a clone with $what says what to do", ({ parts, says }) => {
  const root = clone(...parts);
  const { status, stdout, stderr } = spawnSync(`${root}/bin/cotenant`, ["status"], {
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: "",
    stderr: `cotenant: ${root}${says}\n`,
  });
});
