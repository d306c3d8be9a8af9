// Suites run, each once, and their tests are counted.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { commandsOf, countsIn, execute, mayNotSkip } from "../../scripts/ci/execute.ts";
import { next, runAll } from "../../scripts/ci/schedule.ts";
import { type Preparation, preparations, type Suite, suites } from "../../scripts/ci/suites.ts";

const suite = (name: string, more: Partial<Suite> = {}): Suite => ({
  name,
  tests: [],
  inputs: [],
  ...more,
});
const idle = { running: [], prepared: new Set<Preparation>() };
const counted = { countsTests: true, nice: 0 };
const shell = (text: string) => [["sh", "-c", text]];

test("every suite runs, and each once", async () => {
  const ran: string[] = [];
  const run = async ({ name }: Suite) => {
    ran.push(name);
  };
  const prepared: Preparation[] = [];
  const prepare = async (one: Preparation) => {
    prepared.push(one);
  };
  const all = Object.keys(preparations) as Preparation[];
  await runAll(suites, run, prepare, all);
  expect(ran.sort()).toEqual(suites.map(({ name }) => name).sort());
  expect(prepared).toEqual(all);
});

test("a lane takes its own kind first, and the other when there is none of its own", () => {
  const [computes, waits] = [suite("computes"), suite("waits", { waits: true })];
  expect(next([waits, computes], false, idle)).toBe(computes);
  expect(next([computes, waits], true, idle)).toBe(waits);
  expect(next([waits], false, idle)).toBe(waits);
});

test("a suite waits for its preparations, and for another that must be alone", () => {
  const needy = suite("needy", { needs: ["thread"] });
  expect(next([needy], false, idle)).toBeUndefined();
  expect(next([needy], false, { ...idle, prepared: new Set(["thread" as const]) })).toBe(needy);
  const alone = suite("alone", { alone: "machines" });
  const other = suite("other", { alone: "machines" });
  expect(next([alone], false, { ...idle, running: [other] })).toBeUndefined();
});

test("tests are counted by the last line of a run, and failures are named", async () => {
  const text = "Tests: 1 passed, 0 failed, 0 skipped\nTests: 4 passed, 1 failed, 2 skipped";
  expect(countsIn(text)).toEqual({ passed: 4, failed: 1, skipped: 2 });
  const lines =
    "echo 'FAILED a.test.ts > b: c'; echo 'Tests: 4 passed, 1 failed, 2 skipped'; exit 1";
  const outcome = await execute("a", shell(lines), counted);
  expect(outcome).toMatchObject({ ok: false, counts: { passed: 4, failed: 1, skipped: 2 } });
  expect(outcome.failures).toEqual(["FAILED a.test.ts > b: c"]);
});

test("tests that were tried again are named before the count, and counted", async () => {
  const folder = mkdtempSync("build/retries-");
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const text = `import { expect, test } from "vitest";
    let tries = 0;
    test("passes at its third try", { retry: 2 }, () => expect(++tries).toBe(3));
    test("never passes", { retry: 1 }, () => expect(1).toBe(2));
    test("counts by itself", ({ task }) => void (task.meta.furtherTries = 1));
    test("passes", () => {});`;
  writeFileSync(`${folder}/some.test.ts`, text);
  writeFileSync(
    `${folder}/vitest.config.ts`,
    `export default { test: { reporters: ["${resolve("test/count-reporter.ts")}"] } };`,
  );
  const outcome = await execute("a", [["npx", "vitest", "run", "--root", folder]], counted);
  const retried = [
    "RETRIED some.test.ts > passes at its third try: passed at try 3",
    "RETRIED some.test.ts > never passes: failed at try 2",
    "RETRIED some.test.ts > counts by itself: passed at try 2",
  ];
  expect(outcome.retried).toEqual(retried);
  expect(outcome.output).toContain(
    `${[...retried, "Tests that were tried again: 3", "FAILED some.test.ts > never passes: "].join("\n")}`,
  );
  expect(outcome.counts).toEqual({ passed: 3, failed: 1, skipped: 0 });
});

test.each([
  ["ends with a status", "echo 'Tests: 4 passed, 0 failed, 0 skipped'; exit 3", /ended with 3/],
  ["is killed", "kill -9 $$", /ended with SIGKILL/],
  ["counts nothing", "true", /were not counted/],
  ["has no tests", "echo 'Tests: 0 passed, 0 failed, 0 skipped'", /has no tests/],
])("a suite that %s fails", async (_, text, message) => {
  const outcome = await execute("a", shell(text), counted);
  expect(outcome.ok).toBe(false);
  expect(outcome.failures[0]).toMatch(message);
});

test("a suite that needs CUDA's tools fails where a test of it is skipped", async () => {
  const commands = shell("echo 'Tests: 4 passed, 0 failed, 1 skipped'");
  expect(await execute("a", commands, counted)).toMatchObject({ ok: true });
  const { failures } = await execute("a", commands, { ...counted, mayNotSkip: true });
  expect(failures).toEqual(["FAILED a: 1 tests were skipped, and CUDA's tools are here."]);
});

test.each([
  [{ needsCuda: true }, { CUDA_HOME: "/cuda" }, true],
  [{ needsCuda: true }, {}, false],
  [{}, { CUDA_HOME: "/cuda" }, false],
  [{ needsCuda: true, needsVariable: "KEY" }, { CUDA_HOME: "/cuda" }, false],
  [{ needsCuda: true, needsVariable: "KEY" }, { CUDA_HOME: "/cuda", KEY: "a" }, true],
  [{ needsCuda: true, needsVariable: "KEY" }, { KEY: "a" }, false],
] as const)(
  "whether tests of %o may be skipped with %o follows from both",
  (suite, env, failure) => {
    expect(mayNotSkip(suite, env)).toBe(failure);
  },
);

test("of several commands each runs, also after one that failed", async () => {
  const commands = [...shell("echo first; exit 1"), ...shell("echo second")];
  const { ok, output } = await execute("a", commands, { countsTests: false, nice: 0 });
  expect(ok).toBe(false);
  expect(output).toBe("first\nsecond\n");
});

test("vitest is given the suite's own test files", () => {
  const one = suite("one", { config: "vitest.config.ts" });
  const inputs = { suite: one, tests: ["test/a.test.ts"], files: new Map(), hash: "" };
  const [command] = commandsOf(inputs, 2);
  expect(command).toContain("test/a.test.ts");
});
