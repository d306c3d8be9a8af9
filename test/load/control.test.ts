// `cotenant load --control` as a bench leads it, on the software GPU.
import { execFileSync, spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, onTestFinished, test } from "vitest";
import type { Phase } from "#load";

const directory = mkdtempSync(`${tmpdir()}/cotenant-control-test-`);
afterAll(() => rmSync(directory, { recursive: true }));

const softGpu = { LD_LIBRARY_PATH: "build/native/softgpu", COTENANT_DIR: directory };
const small = ["--kernels", "5", "--kernel-us", "400", "--warmup", "0.1"];

function start(args: readonly string[], env: Record<string, string> = softGpu) {
  const child = spawn("node", ["bin/cotenant", "load", ...args], {
    env: { ...process.env, ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk) => (stdout += chunk));
  child.stderr.on("data", (chunk) => (stderr += chunk));
  const ended = new Promise<{ status: number | null; stdout: string; stderr: string }>((resolve) =>
    child.on("close", (status) => resolve({ status, stdout, stderr })),
  );
  return { child, ended };
}

const now = () => Number(process.hrtime.bigint());

/** The files between a bench and one job of the name "high". */
function lead(name: string) {
  const control = `${directory}/${name}`;
  mkdirSync(control);
  let id = 0;
  const read = (file: string) => JSON.parse(readFileSync(`${control}/${file}`, "utf8"));
  const appeared = async (file: string) => {
    while (!existsSync(`${control}/${file}`)) await pause(5);
    return read(file);
  };
  return {
    control,
    options: ["--control", control, "--name", "high"],
    ready: () => appeared("high.ready"),
    answer: () => appeared(`high.${id}.json`),
    begin(phase: Partial<Phase>) {
      const whole: Phase = {
        id: ++id,
        start_ns: now(),
        seconds: 1,
        jobs: {},
        quit: false,
        ...phase,
      };
      writeFileSync(`${control}/phase.new`, JSON.stringify(whole));
      renameSync(`${control}/phase.new`, `${control}/phase`);
    },
    arrivals(offsets: readonly number[]): string {
      const path = `${control}/arrivals`;
      writeFileSync(path, `# offsets\n${offsets.join("\n")}\n`);
      return path;
    },
  };
}

test("a job serves and iterates as the phases say, and leaves when told to", async () => {
  const bench = lead("phases");
  const { ended } = start([...small, ...bench.options]);
  expect(await bench.ready()).toMatchObject({
    label: "load, compute, 5 x 400 us",
    shape: "compute",
    kernels: 5,
    calibration: { compute: { iterations: expect.any(Number) } },
  });

  const offsets = Array.from({ length: 15 }, (_, i) => i * 20e6);
  const startNs = now() + 100e6;
  bench.begin({ start_ns: startNs, jobs: { high: { arrivals: bench.arrivals(offsets) } } });
  const served = await bench.answer();
  expect(served.arrival_ns).toEqual(offsets.map((offset) => startNs + offset));
  expect(served.latency_ns).toHaveLength(15);
  for (const [i, service] of served.service_ns.entries()) {
    expect(service).toBeGreaterThan(0);
    expect(served.latency_ns[i]).toBeGreaterThanOrEqual(service);
  }

  const begun = now();
  bench.begin({ jobs: { high: {} } });
  const iterating = bench.answer();
  await pause(500);
  const changed = now();
  bench.begin({ jobs: { other: {} } });
  const { done_ns } = await iterating;
  expect(done_ns.length).toBeGreaterThan(2);
  expect(done_ns[0]).toBeGreaterThan(begun);
  expect(done_ns).toEqual([...done_ns].sort((a, b) => a - b));
  expect(done_ns.at(-1)).toBeGreaterThan(changed - 100e6);
  // Milliseconds; more on a machine that is busy.
  expect(done_ns.at(-1)).toBeLessThan(changed + 500e6);

  bench.begin({ quit: true });
  expect(await ended).toMatchObject({ status: 0, stdout: "" });
});

test("an open loop that the next phase cuts short answers with what it served", async () => {
  const bench = lead("cut");
  const { child, ended } = start([...small, ...bench.options]);
  await bench.ready();
  bench.begin({ jobs: { high: { arrivals: bench.arrivals([0, 1e6, 3600e9]) } } });
  const answer = bench.answer();
  await pause(300);
  bench.begin({ jobs: {} });
  expect((await answer).latency_ns).toHaveLength(2);

  bench.begin({ jobs: { high: {} } });
  const last = bench.answer();
  await pause(200);
  child.kill("SIGTERM");
  expect((await ended).status).toBe(0);
  expect((await last).done_ns.length).toBeGreaterThan(2);
});

/** Writes down what it is told, in place of the interposer. */
function listener(): string {
  const source = `${directory}/listener.cpp`;
  const library = `${directory}/listener.so`;
  writeFileSync(
    source,
    `#include <cstdio>
     extern "C" void cotenant_announce(unsigned int us) { std::fprintf(stderr, "told of %u us\\n", us); }`,
  );
  execFileSync("g++", ["-std=c++17", "-shared", "-fPIC", "-o", library, source]);
  return library;
}

test("requests are announced to what is preloaded", async () => {
  const bench = lead("announced");
  const { ended } = start([...small, ...bench.options], { ...softGpu, LD_PRELOAD: listener() });
  await bench.ready();
  const arrivals = bench.arrivals([50e6, 80e6]);
  bench.begin({ jobs: { high: { arrivals, announce_us: 1000 } } });
  expect((await bench.answer()).latency_ns).toHaveLength(2);
  bench.begin({ quit: true });
  const { status, stderr } = await ended;
  expect(status).toBe(0);
  const told = [...stderr.matchAll(/^told of (\d+) us$/gm)].map(([, us]) => Number(us));
  expect(told).toHaveLength(2);
  // The time left until the arrival is stated, with half a millisecond more.
  for (const us of told) expect(us >= 500 && us <= 1500).toBe(true);
});

test("says that nothing is there to announce requests to", async () => {
  const bench = lead("unheard");
  const { ended } = start([...small, ...bench.options]);
  await bench.ready();
  bench.begin({ jobs: { high: { arrivals: bench.arrivals([0]), announce_us: 1000 } } });
  const { status, stderr } = await ended;
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^cotenant: This process has no cotenant_announce, which tells Cotenant of requests: .*\n$/m,
  );
});

test("a job whose bench and directory are gone does not stay", async () => {
  const bench = lead("gone");
  const { ended } = start([...small, ...bench.options]);
  await bench.ready();
  rmSync(bench.control, { recursive: true });
  const { status, stderr } = await ended;
  expect(status).toBe(1);
  expect(stderr).toContain(`The control directory ${bench.control} is not there.`);
});

test.each([
  { args: ["--control", "d"], says: "--control needs --name NAME" },
  { args: ["--name", "a"], says: "--name is for --control" },
  { args: ["--control", "d", "--name", "a/b"], says: '--name "a/b" is not made of' },
  ...["--arrivals=closed", "--rate=5", "--seconds=10", "--marks=f"].map((option) => ({
    args: ["--control", "d", "--name", "a", option],
    says: `${option.replace(/=.*/, "")} does not go with --control`,
  })),
])("says in a sentence: $says", async ({ args, says }) => {
  const { status, stdout, stderr } = await start(args).ended;
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(/^cotenant: .*\n$/);
  expect(stderr).toContain(says);
});

test("--check looks whether it could start, and starts nothing", async () => {
  const job = ["--control", "/nowhere", "--name", "high", "--check"];
  expect(await start(job).ended).toEqual({ status: 0, stdout: "", stderr: "" });
  const wrong = await start([...job, "--kernel-us", "0"]).ended;
  expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining("--kernel-us") });
  const bare = await start(job, { LD_LIBRARY_PATH: "", COTENANT_DIR: directory }).ended;
  if (bare.status === 0) return; // this machine has a GPU
  expect(bare).toMatchObject({ status: 2, stdout: "" });
  expect(bare.stderr).toMatch(/^cotenant: libcuda\.so\.1 was not found: [^.]*\.\n$/);
});
