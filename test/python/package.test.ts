// The Python package `cotenant`: in programs without Cotenant, under `cotenant run`, and with an agent.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { interposer, packageVersion } from "#core";
import { emptyMachine, eventually, startMachine, temporaryDirectory } from "../e2e/machine.ts";

const PYTHONPATH = `${process.cwd()}/python`;
const unittest = ["python3", "-B", "-m", "unittest", "discover", "-s", "python/tests"];
const env = (role: string, more = {}) => ({ PYTHONPATH, COTENANT_TEST_ROLE: role, ...more });
const passed = { status: 0, stderr: expect.stringMatching(/Ran [1-9]\d* tests[\s\S]*\nOK\n/) };

test("a program without Cotenant imports and calls it, and is no client", async () => {
  expect(await emptyMachine(env("")).elsewhere(unittest).ended).toMatchObject(passed);
});

test.each(["high", "best-effort"] as const)("a %s program knows its class", async (kind) => {
  const machine = await startMachine(env(kind));
  expect(await machine.run(kind, unittest).ended).toMatchObject(passed);
});

test("a high program without an agent knows its class", async () => {
  expect(await emptyMachine(env("high")).run("high", unittest).ended).toMatchObject(passed);
});

test.each([
  ["whose environment has lost LD_PRELOAD", { COTENANT_CLASS: "high" }],
  ["with the library and without a class", { LD_PRELOAD: interposer({}) }],
  [
    "for which Cotenant is switched off",
    { LD_PRELOAD: interposer({}), COTENANT_CLASS: "high", COTENANT_OFF: "1" },
  ],
])("a program %s is no client", async (_, more) => {
  const machine = emptyMachine(env("", more));
  expect(await machine.elsewhere(unittest).ended).toMatchObject(passed);
});

test("what it announces holds best-effort work, though nothing is launched", async () => {
  const machine = await startMachine({ PYTHONPATH });
  const train = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "600"]);
  await train.serving;
  const held = async () => (await machine.bestEffortOf(train)).heldShare;
  const high = machine.run("high", ["python3", "-B", "test/python/announcing.py"]);
  await high.said("announcing");
  await eventually("most of the time is held", async () => (await held()) > 0.5);
  high.signal("SIGKILL");
  await eventually("it is released", async () => (await held()) < 0.5);
  await train.finish();
});

test("what it reports requests is timed, and what it never ends or leaves by an exception is counted apart", async () => {
  const machine = await startMachine({ PYTHONPATH });
  const high = machine.run("high", ["python3", "-B", "test/python/telling.py"]);
  await high.said("telling");
  const told = async () => (await machine.status()).gpus.flatMap((gpu) => gpu.high)[0]?.told;
  await eventually(
    "a window of requests",
    async () => ((await told())?.times.tpot?.p50Us ?? 0) > 0,
  );
  await eventually("failed ones", async () => ((await told())?.failed ?? 0) > 10);
  const { times, open = 0, failed = 0 } = (await told()) ?? {};
  expect(times?.ttft?.p50Us).toBeGreaterThan(9_900);
  expect(times?.itl?.p50Us).toBeGreaterThan(9_900);
  // 20 ms, of five tokens after the first.
  expect(times?.tpot?.p50Us).toBeGreaterThan(3_900);
  expect(times?.e2e?.p99Us).toBeGreaterThan(29_000);
  // Each round leaves one that is never ended, and one that fails.
  expect(open).toBeGreaterThanOrEqual(Math.min(4000, failed - 100));
  high.signal("SIGKILL");
  await eventually("it is gone", async () => (await told()) === undefined);
});

const builds = spawnSync("python3", ["-c", "import setuptools, wheel"]).status === 0;
if (!builds)
  console.warn("SKIPPED: the wheel is not built, because python3 lacks setuptools or wheel.");

test.skipIf(!builds)("its wheel holds the package and nothing else", () => {
  const folder = temporaryDirectory();
  cpSync("python", `${folder}/source`, { recursive: true });
  mkdirSync(`${folder}/wheels`);
  const python = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("python3", args, {
      cwd: folder,
      encoding: "utf8",
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    return stdout;
  };
  const offline = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"];
  const build = ["-m", "pip", "wheel", ...offline, "--no-build-isolation"];
  python(...build, "--wheel-dir", "wheels", "./source");
  const [wheel = ""] = readdirSync(`${folder}/wheels`);
  expect(wheel).toBe(`cotenant-${packageVersion()}-py3-none-any.whl`);
  python("-m", "pip", "install", ...offline, "--target", "installed", `wheels/${wheel}`);
  expect(readdirSync(`${folder}/installed`).filter((name) => !name.endsWith(".dist-info"))).toEqual(
    ["cotenant"],
  );
  expect(readdirSync(`${folder}/installed/cotenant`)).toEqual(
    expect.arrayContaining(["__init__.py", "py.typed"]),
  );
});

test("it has the version of the command", () => {
  const [, version] =
    /^version = "(.+)"$/m.exec(readFileSync("python/pyproject.toml", "utf8")) ?? [];
  expect(version).toBe(packageVersion());
});
