// `cotenant load` as people run it, on the software GPU.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterAll, describe, expect, test } from "vitest";

const directory = mkdtempSync(`${tmpdir()}/cotenant-load-test-`);
afterAll(() => rmSync(directory, { recursive: true }));

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const softGpu = { LD_LIBRARY_PATH: "build/native/softgpu", COTENANT_DIR: directory };

function start(args: readonly string[], env: Record<string, string> = softGpu) {
  const child = spawn("node", ["bin/cotenant", "load", ...args], {
    env: { ...process.env, ...env },
  });
  return { child, ended: collect(child) };
}

async function collect(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => (stdout += chunk));
  child.stderr?.on("data", (chunk) => (stderr += chunk));
  const status = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { status, stdout, stderr };
}

const load = (...args: string[]) => start(args).ended;

const small = [
  "--kernels",
  "5",
  "--kernel-us",
  "400",
  "--seconds",
  "1",
  "--warmup",
  "0.1",
  "--json",
];

async function measured(...args: string[]) {
  const { status, stdout, stderr } = await load(...small, ...args);
  expect(stderr).not.toMatch(/^cotenant:/m);
  expect(status).toBe(0);
  return JSON.parse(stdout);
}

describe("a closed loop", () => {
  test("takes as long as its kernels, and every one of them takes place once", async () => {
    const result = await measured("--arrivals", "closed");
    expect(result).toMatchObject({ version: 1, shape: "compute", intact: true });
    expect(result.calibration.compute.kernelUs).toBeGreaterThan(350);
    expect(result.calibration.compute.kernelUs).toBeLessThan(800);
    expect(result.serviceUs.p50).toBeGreaterThan(1800);
    expect(result.serviceUs.p50).toBeLessThan(8000);
    expect(result.throughputPerS).toBeCloseTo(result.requests / result.seconds, 1);
  });

  test("keeps several requests in flight on several streams", async () => {
    const result = await measured(
      ...["--arrivals", "closed", "--shape", "mixed", "--depth", "3", "--streams", "3"],
      ...["--await", "event-sync", "--sms", "32"],
    );
    expect(result.intact).toBe(true);
    expect(Object.keys(result.calibration)).toEqual(["compute", "memory"]);
  });
});

describe("an open loop", () => {
  test("serves every arrival of a file, at its time", async () => {
    const arrivals = `${directory}/arrivals`;
    const offsets = Array.from({ length: 20 }, (_, i) => i * 40e6);
    writeFileSync(arrivals, `# twenty\n${offsets.join("\n")}\n`);
    const marks = `${directory}/marks`;
    const result = await measured("--arrivals", `file:${arrivals}`, "--marks", marks);
    expect(result.requests).toBe(20);
    const lines = readFileSync(marks, "utf8").trim().split("\n").slice(1);
    const rows = lines.map((line) => line.split(" ").map(BigInt));
    const [first] = rows[0] ?? [];
    expect(rows.map(([arrival]) => Number((arrival ?? 0n) - (first ?? 0n)))).toEqual(offsets);
    for (const [arrival = 0n, begun = 0n, done = 0n] of rows)
      expect(arrival <= begun && begun < done).toBe(true);
  });

  test("finds its latency above its service when requests queue", async () => {
    const result = await measured("--arrivals", "poisson", "--rate", "300");
    expect(result.latencyUs.p95).toBeGreaterThan(result.serviceUs.p95);
  });
});

test("the checksum is the same however requests are submitted and noticed", async () => {
  const forms = [
    ["--await", "stream"],
    ["--await", "poll", "--graph"],
    ["--await", "copy", "--copy-in", "64KiB", "--copy-out", "64KiB"],
    ["--await", "event-query", "--graph", "--copy-out", "4KiB", "--shape", "memory"],
  ];
  const checksums = new Set<string>();
  for (const form of forms) {
    const result = await measured("--arrivals", "uniform", "--rate", "50", ...form);
    expect(result).toMatchObject({ requests: 50, intact: true });
    checksums.add(result.checksum);
  }
  expect(checksums.size).toBe(1);
});

test("SIGTERM finishes the request in flight and reports what was done", async () => {
  const args = [...small, "--arrivals", "closed", "--seconds", "60"];
  const { child, ended } = start(args);
  child.stderr?.on("data", (chunk) => {
    if (`${chunk}`.includes("serving")) setTimeout(() => child.kill("SIGTERM"), 500);
  });
  const { status, stdout } = await ended;
  expect(status).toBe(0);
  const result = JSON.parse(stdout);
  expect(result.requests).toBeGreaterThan(20);
  expect(result.seconds).toBeLessThan(50);
  expect(result.intact).toBe(true);
});

test("prints for people", async () => {
  const { stdout, stderr } = await load(...small.slice(0, -1), "--arrivals", "closed");
  expect(stderr).toMatch(
    /^load: compute: \d+ iterations, [\d.]+ us a kernel\nload: serving for 1 s\n$/,
  );
  expect(stdout).toMatch(
    /: \d+ requests in 1\.0 s, [\d.]+ a second\n.*p50.*p99.*\narrival to done/,
  );
});

test.each([
  { args: ["--arrivals", "poisson"], says: "--arrivals poisson needs a rate.", status: 2 },
  { args: ["--rate", "1e9"], says: "1.0e+10 requests are more than 10 million.", status: 2 },
  {
    args: ["--rate", "10", "--marks", "/nowhere/marks"],
    says: "/nowhere/marks can't be written: there is no folder /nowhere",
    status: 2,
  },
  { args: ["--arrivals", "closed", "--sms", "999"], says: "--sms 999 is more than", status: 2 },
  { args: ["--rate", "5", "--depth", "2"], says: "--depth is for --arrivals closed", status: 2 },
  {
    args: ["--arrivals", "file:/nowhere"],
    says: "/nowhere can't be read: no such file or directory.",
    status: 2,
  },
  {
    args: ["--arrivals", "closed", "--memory", "900GiB"],
    says: "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY.",
    status: 1,
  },
])("says in a sentence: $says", async ({ args, says, status }) => {
  const ended = await load(...args);
  expect(ended).toMatchObject({ status, stdout: "" });
  expect(ended.stderr).toContain(says);
});

test("says that there is no driver", async () => {
  const { ended } = start(["--arrivals", "closed"], {
    LD_LIBRARY_PATH: "",
    COTENANT_DIR: directory,
  });
  const { status, stderr } = await ended;
  if (status === 0) return; // this machine has a GPU
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^cotenant: There is no CUDA driver here: libcuda\.so\.1 was not found\. /,
  );
});
