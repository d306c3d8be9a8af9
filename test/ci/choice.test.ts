// Each suite is chosen when one of its inputs changes, and left out when none does.
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  afterAll,
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { choose, type History, MAX_COMMITS } from "../../scripts/ci/choice.ts";
import { graphOf } from "../../scripts/ci/graph.ts";
import { dependenciesOf, hashesOf, type Inputs, inputsOf } from "../../scripts/ci/inputs.ts";
import { Records, recordFolders } from "../../scripts/ci/record.ts";
import { suites } from "../../scripts/ci/suites.ts";
import { treeOf, workingTree } from "../../scripts/ci/tree.ts";

const tree = workingTree(".");
const graph = graphOf(tree);
const dependencies = dependenciesOf(suites, tree, graph);
const hashOf = hashesOf(tree);
const all = inputsOf(dependencies, hashOf, "a machine");

/** The suites' inputs if these files had other content. */
const withFault = (...faulty: string[]): readonly Inputs[] =>
  inputsOf(dependencies, (path) => (faulty.includes(path) ? "other" : hashOf(path)), "a machine");

let folder = "";
let records = new Records("");
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "cotenant-ci-"));
  records = new Records(folder);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Records of a machine on which all suites have passed; made once, because they are large. */
const allPassed = mkdtempSync(join(tmpdir(), "cotenant-ci-passed-"));
afterAll(() => rmSync(allPassed, { recursive: true }));

const pass = { commit: "c0ffee", at: "2026-01-01T00:00:00.000Z", seconds: 1, tests: 1 };
/** All these suites pass. */
function record(inputs: readonly Inputs[], into = records): void {
  for (const { suite, hash, files } of inputs) into.add(suite.name, { ...pass, hash }, files);
  into.setFullRun(pass);
}
record(all, new Records(allPassed));
const recordAll = (): void => cpSync(allPassed, folder, { recursive: true });
const history = (commits: number | undefined, shallow = false): History => ({
  shallow,
  commitsSince: () => commits,
});
const chosen = (inputs: readonly Inputs[], past = history(1), asked?: string) =>
  choose(inputs, records, past, asked)
    .suites.filter(({ runs }) => runs)
    .map(({ inputs: { suite } }) => suite.name);
const names = suites.map(({ name }) => name);

test("after all have passed, only the test of the choice runs", () => {
  recordAll();
  expect(chosen(all)).toEqual(["choice"]);
});

describe("a fault in an input of its own", () => {
  test.each([
    ["choice", "test/ci/choice.test.ts"],
    ["lint", "biome.json"],
    ["interposer", "native/interposer/calls/waits.h"],
    ["interposer", "test/interposer/calls/routing.cpp"],
    ["e2e", "src/policy/parameters/strict.ts"],
    ["e2e", "test/e2e/programs/misbehave.py"],
    ["e2e", "test/deploy/over-quota.ts"],
    ["clock", "src/predict/index.ts"],
    ["ptx", "lab/emulator/index.ts"],
    ["ptx", "src/ptx/index.ts"],
    ["ptxas", "native/ptxas/ptxas.cpp"],
    ["gate", "native/gate/hold.cpp"],
    ["gate", "lab/emulator/index.ts"],
    ["unit-policy", "native/gate/gate.cpp"],
    ["unit-policy", "src/policy/parameters/strict.ts"],
    ["unit-model", "src/predict/index.ts"],
    ["unit-model", "bench/profiles/h200"],
    ["unit-plans", "lab/soc/index.ts"],
    ["unit-ptx", "src/ptx/index.ts"],
    ["unit-ptx", "lab/emulator/numbers"],
    ["unit-agent", "src/agent/index.ts"],
    ["unit-core", "src/core/errors.ts"],
    ["softgpu", "native/driver/passed.def"],
    ["nccl", "test/nccl/library/lacking.def"],
    ["runtimes", "native/softgpu/runtime/tables.cpp"],
    ["random-programs", "native/softgpu/exports.map"],
    ["agent", "src/dashboard/page/page.ts"],
    ["cli", "python/pyproject.toml"],
    ["setup", "vite.config.ts"],
    ["deploy", "deploy/prometheus/cotenant.rules.yml"],
    ["guide", "docs/guide/run.md"],
    ["model", "lab/cluster/index.ts"],
    ["cost", "bench/cost/instructions.ts"],
    ["documents", "docs/design/glossary.md"],
    ["sanitize-interposer", "native/interposer/base/spin.h"],
    ["sanitize-interposer", "test/thread.supp"],
    ["sanitize-gate", "native/gate/parts.cpp"],
    ["tidy", ".clang-tidy"],
    ["packaged", "scripts/package.mjs"],
    ["packaged", "scripts/manual.ts"],
    ["slow-e2e", "src/agent/index.ts"],
    ["slow-memory", "native/interposer/parking/parking.cpp"],
    ["slow-guide", "docs/guide/memory.md"],
    ["slow-model", "bench/scenarios"],
    ["containers", "deploy/slurm/prolog.sh"],
    ["kubernetes-control", "deploy/kubernetes/chart/Chart.yaml"],
    ["kubernetes-control", "src/kubernetes/index.ts"],
    ["kubernetes-machines", "scripts/image"],
    ["kubernetes-controllers", "test/kubernetes/modules/kueue/go.mod"],
  ])("chooses %s: %s", (name, path) => {
    const file = tree.has(path) ? path : (tree.under(path)[0] ?? "");
    expect(tree.has(file), path).toBe(true);
    recordAll();
    expect(chosen(withFault(file))).toContain(name);
  });
});

test("every suite has a planted fault above", () => {
  const source = tree.read("test/ci/choice.test.ts").toString();
  expect(names.filter((name) => !source.includes(`    ["${name}", "`))).toEqual([]);
});

describe("what a change does not choose", () => {
  const costly =
    /^(interposer|e2e|slow-(e2e|memory|model)|sanitize|packaged|containers|kubernetes|ptx|tidy)/;

  test.each([
    "CHANGELOG.md",
    "docs/results/README.md",
    "docs/design/decisions/0003-objectives-climbed-to.md",
  ])("costly suites by %s", (path) => {
    recordAll();
    const suitesOf = chosen(withFault(path));
    expect(suitesOf).toContain("documents");
    expect(suitesOf.filter((name) => costly.test(name))).toEqual([]);
  });

  test("suites of the native parts, and what runs the agent, by the prediction of pairs", () => {
    recordAll();
    const suitesOf = chosen(withFault("src/predict/index.ts"));
    expect(suitesOf).toContain("unit-model");
    for (const name of [
      "interposer",
      "e2e",
      "slow-e2e",
      "slow-memory",
      "sanitize-gate",
      "unit-policy",
      "ptx",
    ])
      expect(suitesOf).not.toContain(name);
  });

  test("anything but tests' own suites by one test file", () => {
    recordAll();
    const suitesOf = chosen(withFault("test/e2e/run.test.ts"));
    expect(suitesOf).toContain("e2e");
    expect(
      suitesOf.filter((name) =>
        /^(slow-(e2e|memory|model)|kubernetes|containers|packaged|unit)/.test(name),
      ),
    ).toEqual([]);
  });
});

describe("all suites run", () => {
  test.each([
    ["on request", history(1), "--all is given"],
    ["after too many commits", history(MAX_COMMITS), undefined],
    ["in a clone that lacks the commit of the newest full run", history(undefined), undefined],
    ["in a shallow clone", history(1, true), undefined],
  ])("%s", (_, past, asked) => {
    recordAll();
    expect(chosen(all, past, asked)).toEqual(names);
  });

  test("without a record", () => {
    expect(chosen(all)).toEqual(names);
  });

  test.each(["full-run.json", "gate.json"])("if %s can't be read", (name) => {
    recordAll();
    for (const text of ["{", "null", "{}"]) {
      writeFileSync(join(folder, name), text);
      expect(chosen(all), text).toEqual(names);
    }
  });

  test.each(["scripts/ci/suites.ts", ".ci/run", "package-lock.json"])("if %s changes", (path) => {
    recordAll();
    expect(chosen(withFault(path))).toEqual(names);
  });

  test("on a machine with other tools", () => {
    recordAll();
    expect(chosen(inputsOf(dependencies, hashOf, "another machine"))).toEqual(names);
  });
});

test("up to the limit of commits, suites are chosen by content", () => {
  recordAll();
  expect(chosen(all, history(MAX_COMMITS - 1))).toEqual(["choice"]);
});

test("another content of a file, and another mode, are another hash", () => {
  const one = (text: string) => hashesOf(treeOf(["a"], () => Buffer.from(text)))("a");
  expect(one("x")).toBe(one("x"));
  expect(one("y")).not.toBe(one("x"));
  expect(tree.read("bin/cotenant").toString()).toMatch(/\nexecutable$/);
});

test("a change that is taken back runs nothing again", () => {
  recordAll();
  record(withFault("native/gate/gate.cpp"));
  expect(chosen(all)).toEqual(["choice"]);
});

test("a suite that has not passed runs, and the others do not", () => {
  const failing = withFault("native/gate/gate.cpp");
  recordAll();
  record(failing.filter(({ suite }) => suite.name !== "gate"));
  expect(chosen(failing)).toEqual(["choice", "gate"]);
});

test("a run of all suites that ends early leaves what it has not passed to the next run", () => {
  recordAll();
  records.beginFullRun(pass, names);
  const [lint, ...others] = all.filter(({ suite }) => suite.name !== "choice");
  if (!lint) throw new Error("there are no suites");
  records.add(lint.suite.name, { ...pass, hash: lint.hash }, lint.files);
  expect(chosen(all)).toEqual(["choice", ...others.map(({ suite }) => suite.name)]);
});

test("a damaged record of a suite is replaced when the suite passes", () => {
  recordAll();
  writeFileSync(join(folder, "gate.json"), "{");
  record(all.filter(({ suite }) => suite.name === "gate"));
  expect(chosen(all)).toEqual(["choice"]);
});

test("a run with records of its own is decided by them, and its passes count for others", () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("XDG_CACHE_HOME", "/cache");
  vi.stubEnv("COTENANT_CI_RECORDS", "");
  expect(recordFolders()).toEqual(["/cache/cotenant/ci"]);
  vi.stubEnv("COTENANT_CI_RECORDS", "/own");
  expect(recordFolders()).toEqual(["/own", "/cache/cotenant/ci"]);
});

test("each test file belongs to one suite; the native parts' also run with a sanitizer", () => {
  const suitesOf = (path: string) =>
    all.flatMap(({ suite, tests }) =>
      tests.includes(path) && !suite.name.startsWith("sanitize-") ? [suite.name] : [],
    );
  const tests = tree.files.filter((path) => /(?<!\.soak)\.test\.ts$/.test(path));
  expect(tests.filter((path) => suitesOf(path).length !== 1)).toEqual([]);
});

test("each program, data file and source belongs to the inputs of a suite that runs it", () => {
  const inputs = new Set(
    all
      .filter(({ suite }) => !["lint", "documents", "tidy"].includes(suite.name))
      .flatMap(({ files }) => [...files.keys()]),
  );
  const used = tree.matching([
    "{src,lab,native,bin,deploy,python,workloads}/**",
    "test/**",
    "!**/*.md",
    "!**/*.soak.test.ts",
  ]);
  const byLinters = tree.matching(["test/*.test.ts", "test/structure/**", "test/suites/*"]);
  expect(used.filter((path) => !inputs.has(path) && !byLinters.includes(path))).toEqual([]);
});
