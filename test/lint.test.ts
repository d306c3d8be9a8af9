// Faults planted in a project of its own with our Biome settings: each must be reported, so that an update
// of Biome that no longer sees one is noticed.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const faults = {
  "a promise nobody waits for": {
    path: "src/core/floating.ts",
    text: "const work = async () => 1;\n\nexport function begin() {\n  work();\n}\n",
    rule: "lint/nursery/noFloatingPromises",
  },
  "a promise nobody waits for, from another file": {
    path: "src/core/floating-elsewhere.ts",
    text: 'import { work } from "./work.ts";\n\nexport function begin() {\n  work();\n}\n',
    rule: "lint/nursery/noFloatingPromises",
  },
  "a promise taken for a truth": {
    path: "src/core/misused.ts",
    text: "const ready = async () => false;\n\nexport function begin() {\n  if (ready()) console.log(1);\n}\n",
    rule: "lint/nursery/noMisusedPromises",
  },
  "a switch that forgets a case": {
    path: "src/core/switch.ts",
    text: 'type Kind = "a" | "b";\n\nexport function name(kind: Kind) {\n  switch (kind) {\n    case "a":\n      return 1;\n  }\n}\n',
    rule: "lint/nursery/useExhaustiveSwitchCases",
  },
  "files that import each other": {
    path: "src/core/cycle.ts",
    text: 'import { there } from "./cycle-there.ts";\n\nexport const here = () => there();\n',
    rule: "lint/suspicious/noImportCycles",
  },
  "files that import each other's types": {
    path: "src/core/types.ts",
    text: 'import type { There } from "./types-there.ts";\n\nexport interface Here {\n  readonly there: There;\n}\n',
    rule: "lint/suspicious/noImportCycles",
  },
  "files that import each other through a door": {
    path: "src/policy/door.ts",
    text: 'import { around } from "#policy";\n\nexport const here = () => around();\n',
    rule: "lint/suspicious/noImportCycles",
  },
};

const innocent = {
  "src/core/work.ts": "export const work = async () => 1;\n",
  "src/core/cycle-there.ts":
    'import { here } from "./cycle.ts";\n\nexport const there = () => here();\n',
  "src/core/types-there.ts":
    'import type { Here } from "./types.ts";\n\nexport interface There {\n  readonly here: Here;\n}\n',
  "src/policy/index.ts":
    'import { here } from "./door.ts";\n\nexport const around = () => here();\n',
};

interface Report {
  readonly diagnostics: readonly { category: string; location: { path: string } }[];
}

const project = mkdtempSync(join(tmpdir(), "cotenant-lint-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));
let found: Report["diagnostics"] = [];

beforeAll(() => {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  };
  for (const { path, text } of Object.values(faults)) write(path, text);
  for (const [path, text] of Object.entries(innocent)) write(path, text);
  for (const file of ["biome.json", ".gitignore", "tsconfig.json", "package.json"])
    copyFileSync(file, join(project, file));
  execFileSync("git", ["init", "--quiet", project]);
  const biome = resolve("node_modules/@biomejs/biome/bin/biome");
  const said = spawnSync(process.execPath, [biome, "lint", "--reporter=json"], {
    cwd: project,
    encoding: "utf8",
  });
  found = (JSON.parse(said.stdout) as Report).diagnostics;
});

test.each(Object.entries(faults))("the linter reports %s", (_, { path, rule }) => {
  expect(found.filter(({ location }) => location.path === path)).toContainEqual(
    expect.objectContaining({ category: rule }),
  );
});
