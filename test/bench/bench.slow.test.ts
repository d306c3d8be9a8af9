// The harness led by its own command line, with processes that sleep in place of a GPU, and with the
// synthetic client on the software GPU.
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import type { BenchResult } from "#bench";

const directory = mkdtempSync(`${tmpdir()}/cotenant-bench-test-`);
afterAll(() => rmSync(directory, { recursive: true }));

const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1", TMPDIR: directory };

/** A measurement takes its time; how much more on a busy machine is no fault. */
const PATIENCE_MS = 550_000;

const program = ["bin/cotenant-lab", "bench"];

/** Its standard output; rejects with `code`, `stdout` and `stderr`. */
const cotenant = (...args: string[]) =>
  promisify(execFile)(process.execPath, [...program, ...args, "--gpu", "soft"], {
    timeout: PATIENCE_MS,
    env,
  });

function scenario(name: string, high: string, bestEffort: string, more: object = {}): string {
  const path = `${directory}/${name}.json`;
  const job = (words: string) => ({ run: `python3 test/bench/fake.py ${words}` });
  writeFileSync(
    path,
    JSON.stringify({
      high: job(high),
      bestEffort: job(bestEffort),
      arrangements: ["time-slicing"],
      rounds: 2,
      seconds: 1.5,
      ...more,
    }),
  );
  return path;
}

const out = (name: string) => `${directory}/${name}.result.json`;
const read = (name: string): BenchResult => JSON.parse(readFileSync(out(name), "utf8"));

function cell(result: BenchResult, arrangement: string) {
  const found = result.cells.find((one) => one.arrangement === arrangement);
  if (!found) throw new Error(`no cell ${arrangement}`);
  return found;
}

// Sleeping on a busy machine overshoots: what is looked for is made large, and found roughly.
function roughly(value: number | undefined, wanted: number): void {
  expect(value).toBeGreaterThan(wanted * 0.65);
  expect(value).toBeLessThan(wanted * 1.5);
}

describe.concurrent("the bench", () => {
  test("finds the slowdown and the throughput retained of a pair made to slow down", async () => {
    const path = scenario("slow", "serve --us 10000 --slower 2", "train --us 25000 --slower 2");
    const { stdout } = await cotenant(
      ...[path, "--out", out("slow"), "--raw", `${directory}/slow.raw.json`],
      ...["--commit", "abc123", "--note", "made up"],
    );
    const result = read("slow");
    expect(result).toMatchObject({ version: 2, kind: "bench", commit: "abc123", note: "made up" });
    roughly(result.scenario.ratePerS, 20);
    const { high, bestEffort } = cell(result, "time-slicing");
    roughly(high?.burst.p50.value, 2);
    expect(high?.burst.p50.rounds).toHaveLength(2);
    roughly(bestEffort?.retained.value, 0.5);
    // 20 requests a second of 20 ms.
    roughly(high?.activeShare.value, 0.4);
    // They take 10 ms alone, which is half of the time.
    const alone = cell(result, "solo").high?.activeShare.value ?? 0;
    roughly(alone, 0.2);
    const served = Math.min(1, high?.throughput.value ?? 0);
    const possible = (bestEffort?.retained.value ?? 0) / (1 - alone * served);
    expect(bestEffort?.retainedOfPossible).toBeCloseTo(possible);
    expect(cell(result, "solo").high?.latency.p99.value).toBe(1);
    expect(cell(result, "alone").bestEffort?.retained.value).toBeCloseTo(1);
    expect(stdout).toContain("time-slicing");

    // Requests alone and co-located have the same arrivals.
    const raw = JSON.parse(readFileSync(`${directory}/slow.raw.json`, "utf8"));
    for (const round of raw) expect(round["time-slicing"].arrivalNs).toEqual(round.solo.arrivalNs);
  });

  test("a job that dies in the middle fails its cell with its last words; the others stand", async () => {
    const dying = "train --us 20000 --dies-in 2 --only-in strict";
    const path = scenario("dies", "serve --us 8000", dying, {
      arrangements: ["strict-isolated", "time-slicing"],
    });
    await expect(cotenant(path, "--out", out("dies"))).rejects.toMatchObject({ code: 1 });
    const result = read("dies");
    const failed = cell(result, "strict-isolated");
    expect(failed.status).toBe("failed");
    expect(failed.reason).toMatch(/ended with 1.*\nthe GPU has fallen off the bus/);
    expect(failed.bestEffort).toBeUndefined();
    expect(cell(result, "time-slicing").status).toBe("ok");
  });

  test("when a native job dies, what was measured before stands", async () => {
    const path = scenario("base", "serve --us 8000 --dies-in 6", "train --us 20000");
    await expect(cotenant(path, "--out", out("base"), "--rounds", "3")).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("time-slicing"),
    });
    const result = read("base");
    expect(result.note).toMatch(/cut short: .*\nthe GPU has fallen off the bus/);
    expect(result.cells.map(({ status }) => status)).toEqual(Array(3).fill("ok"));
    expect(cell(result, "time-slicing").high?.burst.p50.rounds).toHaveLength(1);
  });

  test("says in one sentence what can't be, before anything starts", async () => {
    const crashing = scenario("crash", "crash", "train");
    await expect(cotenant(crashing)).rejects.toMatchObject({
      stderr: 'cotenant-lab: Job "high": fake.py: no such GPU\n',
    });
    const absent = scenario("absent", "serve", "train", { high: { run: "no-such-program" } });
    await expect(cotenant(absent)).rejects.toMatchObject({
      stderr: expect.stringContaining('there is no program "no-such-program"'),
    });
    const streams = scenario("streams", "serve", "train", { arrangements: ["streams"] });
    await expect(cotenant(streams)).rejects.toMatchObject({
      stderr: expect.stringContaining('"streams" puts serve.py and one train.py into one process'),
    });
    await expect(cotenant("synthetic", "--out", "/nowhere/x.json")).rejects.toMatchObject({
      stderr: expect.stringContaining("there is no folder /nowhere that you may write to"),
    });
    const trace = scenario("trace", "serve", "train", {
      arrivals: "trace:none.csv?column=t&unit=ms",
    });
    await expect(cotenant(trace)).rejects.toMatchObject({
      stderr: expect.stringMatching(/The trace .*none.csv can't be read/),
    });
  });

  test("measures on the software GPU, and makes a chart of the result", async () => {
    const chart = `${directory}/synthetic.svg`;
    const { stdout } = await cotenant(
      ...["synthetic", "--requests", "120", "--rounds", "1", "--out", out("synthetic")],
      ...["--arrangement", "time-slicing", "--arrangement", "floor", "--chart", chart],
      ...["--arrangement", "strict-isolated", "--arrangement", "strict-mps"],
    );
    const result = read("synthetic");
    expect(result.cells.map(({ status }) => status)).toEqual(Array(6).fill("ok"));
    const isolated = (name: string) => cell(result, name).rules?.isolated;
    expect(["floor", "strict-isolated", "strict-mps"].map(isolated)).toEqual([1, 1, 0]);
    for (const name of ["solo", "alone", "time-slicing"])
      expect(cell(result, name)).not.toHaveProperty("rules");
    const kept = cell(result, "strict-isolated").bestEffort?.retained.value;
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThanOrEqual(1.1);
    expect(stdout).toContain("strict-isolated");
    expect(readFileSync(chart, "utf8")).toMatch(/^<svg/);
  });
});

/** Exit status and standard error of a measurement that is sent a signal once, when it first says so. */
async function stoppedAt(words: string, signal: NodeJS.Signals) {
  const path = scenario("stopped", "serve", "train --us 20000", { rounds: 50 });
  const args = [...program, path, "--gpu", "soft", "--out", out("stopped")];
  const child = execFile(process.execPath, args, { env });
  let said = "";
  let isSent = false;
  child.stderr?.on("data", (text) => {
    said += text;
    // Not again: Node restores the default of a signal before it exits, so a second one could change the exit status.
    if (!isSent && said.includes(words)) isSent = child.kill(signal);
  });
  const status = await new Promise((resolve) => child.on("close", resolve));
  return { status, said };
}

test("stopped before the first round is over, it says so and ends its jobs", async () => {
  const { status, said } = await stoppedAt("alone a request takes", "SIGINT");
  expect(status).toBe(1);
  expect(said).toMatch(/\ncotenant-lab: The measurement was stopped\.\n$/);
});

test("stopped later, it keeps what it has", async () => {
  expect(await stoppedAt("round 2 of 50", "SIGTERM")).toMatchObject({ status: 1 });
  const result = read("stopped");
  expect(result.note).toBe("cut short: stopped by a signal");
  expect(cell(result, "time-slicing").bestEffort?.retained.rounds).toHaveLength(1);
});

test("a comparison of labels ends at the first failure with its cause, and keeps the file", async () => {
  const path = scenario("unlabelled", "nonsense", "train");
  const failing = cotenant("--label", path, "--out", out("label"));
  await expect(failing).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/cotenant-lab: high ended with 2;/),
  });
  expect(read("label")).toMatchObject({ kind: "predict-label", pairs: [] });
  expect((read("label") as { failed?: string }).failed).toContain("invalid choice: 'nonsense'");
});

test("leaves no file and no process behind", async () => {
  expect(runDirectories()).toEqual([]);
  expect(await processes()).not.toContain(`${directory}/cotenant-bench-`);
});

test("its jobs leave by themselves when it is killed", async () => {
  await stoppedAt("alone a request takes", "SIGKILL");
  const [left = ""] = runDirectories();
  expect(left).not.toBe("");
  await expect.poll(processes, { timeout: PATIENCE_MS }).not.toContain(`${directory}/${left}`);
  rmSync(`${directory}/${left}`, { recursive: true });
});

const runDirectories = () =>
  readdirSync(directory).filter((name) => name.startsWith("cotenant-bench-"));

const processes = async () => (await promisify(execFile)("ps", ["-eo", "args"])).stdout;

test("the Python half of the harness holds on its own", async () => {
  for (const folder of ["workloads", "bench/kernels", "bench/live", "bench/engine"])
    await promisify(execFile)(
      "python3",
      ["-m", "unittest", "discover", "-s", folder, "-p", "*_test.py"],
      { env, timeout: PATIENCE_MS },
    );
});
