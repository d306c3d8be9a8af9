// The import graph of the choice of suites: imports, strings that name files, and modules of commands.
import { expect, test } from "vitest";
import { cotenant, graphOf, laboratory } from "../../scripts/ci/graph.ts";
import { parseModule } from "../../scripts/ci/modules.ts";
import { treeOf, workingTree } from "../../scripts/ci/tree.ts";

const commands = `const table = {
  up: async () => (await import("./commands/up.ts")).up,
  "make-it": async () =>
    (await import("./commands/make-it.ts")).make,
};
`;
const sources: Readonly<Record<string, string>> = {
  "package.json": '{ "imports": { "#core": "./src/core/index.ts" } }',
  "src/cli/main.ts": 'import { dispatch } from "./commands.ts";',
  "src/cli/commands.ts": commands,
  "src/cli/commands/up/up.ts": 'export * from "#core";',
  "src/cli/commands/make-it.ts": 'const data = "data/kernels";\nconst see = "docs/a.md";',
  "src/core/index.ts": 'import type { Unit } from "./unit.ts";',
  "src/core/unit.ts": "export interface Unit {}",
  "data/kernels/one.ptx": "",
  "docs/a.md": "",
  "test/dynamic.ts": "",
  "test/a.test.ts":
    'import "#core";\nimport { test } from "vitest";\nawait import("./dynamic.ts");\nnew URL("./started.ts", import.meta.url);\nread(`docs/$' +
    '{name}`); read("docs/a.md");',
  "test/started.ts": 'export { far } from "../src/cli/commands/up/up.ts";',
};
const tree = (changed: Readonly<Record<string, string>> = {}) => {
  const all = { ...sources, ...changed };
  return treeOf(Object.keys(all), (path) => Buffer.from(all[path] ?? ""));
};

test("a test depends on what it imports, also by a name, dynamically or for a type, and on what it names", () => {
  expect([...graphOf(tree()).ofTests(["test/a.test.ts"]).files].sort()).toEqual([
    "docs/a.md",
    "src/cli/commands/up/up.ts",
    "src/core/index.ts",
    "src/core/unit.ts",
    "test/a.test.ts",
    "test/dynamic.ts",
    "test/started.ts",
  ]);
});

test("a command's modules and data are found, those of other commands are not", () => {
  const graph = graphOf(tree());
  expect(graph.commands(cotenant)).toEqual(["up", "make-it"]);
  const files = [...graph.ofCommands(cotenant, new Set(["make-it"]))];
  expect(files).toContain("data/kernels/one.ptx");
  // Messages name documents; no command reads them.
  for (const other of ["src/cli/commands/up/up.ts", "docs/a.md"])
    expect(files).not.toContain(other);
});

test("a table of commands that can't be read is refused", () => {
  const graph = graphOf(tree({ "src/cli/commands.ts": `${commands}\nawait import("./main.ts");` }));
  expect(() => graph.commands(cotenant)).toThrow(
    /src\/cli\/commands.ts imports 3 commands, of which/,
  );
});

test.each(["./nowhere.ts", "#nowhere"])("an import of %s is refused by name", (specifier) => {
  const graph = graphOf(tree({ "test/a.test.ts": `import "${specifier}";` }));
  expect(() => graph.ofTests(["test/a.test.ts"])).toThrow(
    `test/a.test.ts imports "${specifier}", which is no file of the tree.`,
  );
});

test("a file that can't be parsed is named", () => {
  expect(() => parseModule("src/a.ts", "const = 1;")).toThrow(/^src\/a.ts can't be parsed: /);
});

test("here, the commands of the agent do not load the prediction, and `predict` does", () => {
  const graph = graphOf(workingTree("."));
  const loaded = (name: string) => graph.ofCommands(cotenant, new Set([name]));
  expect(graph.ofCommands(laboratory, new Set(["predict"]))).toContain("src/predict/index.ts");
  expect(loaded("match-pods")).toContain("src/predict/index.ts");
  for (const name of ["up", "run", "load"])
    expect(loaded(name)).not.toContain("src/predict/index.ts");
  expect(loaded("up")).toContain("src/policy/index.ts");
});

test("here, no command of cotenant loads the laboratory", () => {
  const graph = graphOf(workingTree("."));
  const loaded = [...graph.ofCommands(cotenant, new Set(graph.commands(cotenant)))];
  expect(loaded.filter((path) => path.startsWith("lab/"))).toEqual([]);
  expect(loaded).toContain("src/agent/index.ts");
});
