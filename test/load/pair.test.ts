// The harness for a real pair, led by its own command line, with processes that sleep in place of a GPU.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";

const directory = mkdtempSync(`${tmpdir()}/cotenant-pair-test-`);
afterAll(() => rmSync(directory, { recursive: true }));

const env = { ...process.env, PYTHONDONTWRITEBYTECODE: "1" };
const python = (...args: string[]) =>
  promisify(execFile)("python3", args, { timeout: 50_000, env });

const pair = (name: string, high: string, bestEffort: string, ...more: string[]) =>
  python(
    ...["bench/pair/pair.py", "--high", `python3 test/load/fake.py ${high}`],
    ...["--best-effort", `python3 test/load/fake.py ${bestEffort}`],
    ...["--rounds", "2", "--seconds", "1.3", "--train-seconds", "0.6"],
    ...["--warmup-seconds", "0.2", "--settle", "0.2", "--lead", "0.1"],
    ...["--directory", `${directory}/${name}`],
    ...["--json", `${directory}/${name}.json`, "--raw", `${directory}/${name}.raw.json`, ...more],
  );

// Sleeping on a busy machine overshoots: what is looked for is made large, and found roughly.
const roughly = (value: number, wanted: number) => {
  expect(value).toBeGreaterThan(wanted * 0.7);
  expect(value).toBeLessThan(wanted * 1.4);
};

const read = (file: string) => JSON.parse(readFileSync(`${directory}/${file}`, "utf8"));

test("finds the slowdown and the retained throughput of a pair that was made to slow down", async () => {
  const { stdout } = await pair(
    "pair",
    "serve --us 10000 --slower 2",
    "train --us 25000 --slower 2",
    ...["--load", "0.2", "--commit", "abc123"],
  );
  const result = read("pair.json");
  const { shared } = result.results.native;
  expect(result).toMatchObject({ version: 1, kind: "pair", commit: "abc123", requests_per_s: 20 });
  roughly(shared.service.p50.value, 2);
  expect(shared.latency.p50.value).toBeGreaterThan(1.4);
  roughly(shared.retained.value, 0.5);
  // 20 requests a second of 20 ms.
  expect(shared.active_share.value).toBeGreaterThan(0.15);
  expect(shared.active_share.value).toBeLessThan(0.75);
  expect(shared.retained_of_possible).toBeCloseTo(
    shared.retained.value / (1 - shared.active_share.value),
  );
  expect(shared.service.p50.rounds).toHaveLength(2);
  expect(stdout).toMatch(/^native\s+shared/m);
});

test("requests alone and beside training have the same arrivals", () => {
  for (const round of read("pair.raw.json")) {
    const { solo, shared } = round.native;
    expect(solo.latency_ns.length).toBeGreaterThan(5);
    expect(shared.latency_ns).toHaveLength(solo.latency_ns.length);
  }
});

test("overhead compares another mode's solo windows with native ones", async () => {
  await pair(
    "overhead",
    "serve --us 10000",
    "train --us 25000",
    ...["--overhead", "--modes", "isolated,native", "--rate", "20"],
    ...["--high-prefix", "env FAKE_FACTOR=2", "--be-prefix", "env FAKE_FACTOR=2"],
  );
  const { native, isolated } = read("overhead.json").results;
  expect(native.overhead).toBeUndefined();
  expect(isolated.shared).toBeUndefined();
  roughly(isolated.overhead.service.p50.value, 2);
  roughly(isolated.overhead.retained.value, 0.5);
});

test("a job that dies ends the run with what it last said", async () => {
  await expect(pair("crash", "crash", "train")).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/pair: serve ended with 1: .*\nno such GPU/),
  });
});

test("its arithmetic holds on known numbers", async () => {
  await python("-m", "unittest", "discover", "-s", "bench/pair", "-p", "*_test.py");
});
