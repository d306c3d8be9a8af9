// `cotenant try` with two programs that know nothing of Cotenant, on the software GPU. What it finds on a busy machine
// may be that nothing can be judged; how it decides is in src/measure/try/verdict.test.ts.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { TryResult } from "#measure";
import { emptyMachine, eventually, temporaryDirectory } from "./machine.ts";

import { PATIENCE_MS, rowOf, service, short, started, training } from "./trying.ts";

test("latencies that the service tells and steps that the training tells are used where they are given", {
  timeout: PATIENCE_MS,
}, async () => {
  const machine = emptyMachine();
  const talking = join(temporaryDirectory(), "train.sh");
  writeFileSync(talking, `( while sleep 0.05; do echo "step done"; done ) & exec "$@"`);
  const { status, stdout, stderr } = await started(
    machine,
    ...short,
    ...["--no-mps", "--json", "--ready", "load: serving", "--progress", "^step"],
    ...["--latency-command", "while sleep 0.02; do echo 0.004; done"],
    ...["--", ...service, "--", "sh", talking, ...training],
  ).ended;
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  const result = JSON.parse(stdout) as TryResult;
  expect(result).toMatchObject({ unit: "steps", judged: "app" });
  expect(result.skipped).toEqual(["mode mps: left out by --no-mps."]);
  expect(rowOf(result, "solo").app).toMatchObject({ p50Ms: 4, p99Ms: 4 });
  expect(rowOf(result, "cotenant-isolated").app?.p99.value).toBe(1);
  expect(rowOf(result, "alone").perS).toBeGreaterThan(0);
});

test("a Prometheus endpoint tells latencies by what it counts in a window", {
  timeout: PATIENCE_MS,
}, async () => {
  let count = 0;
  const server = createServer((_, answer) => {
    count += 100;
    answer.end(`lat_seconds_bucket{le="0.01"} 0\nlat_seconds_bucket{le="0.02"} ${count}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  const machine = emptyMachine();
  const args = [...short, "--no-mps", "--json", "--metrics-url", url, "--metric", "lat_seconds"];
  const { status, stdout, stderr } = await started(
    machine,
    ...args,
    ...["--", ...service, "--", ...training],
  ).ended;
  server.closeAllConnections();
  server.close();
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  const { app } = rowOf(JSON.parse(stdout) as TryResult, "solo");
  expect(app?.requests).toBeCloseTo(200);
  expect(app?.p50Ms).toBeCloseTo(15, 0);
});

test("what the training has launched far ahead is done before a window in which it is held, or stands still", {
  timeout: PATIENCE_MS,
}, async () => {
  const machine = emptyMachine();
  const farAhead = [...training, "--kernels", "400", "--kernel-us", "5000"]; // 2 s
  const { status, stderr } = await started(
    machine,
    ...[...short, "--no-mps", "--", ...service, "--", ...farAhead],
  ).ended;
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  expect(stderr).toMatch(
    /Cotenant, isolated\ntry: mode isolated, the training finishes what it has launched\n/,
  );
});

test("Ctrl-C ends both jobs and what they have started, and leaves nothing behind", {
  timeout: PATIENCE_MS,
}, async () => {
  const machine = emptyMachine();
  const mark = join(temporaryDirectory(), "mark");
  const marked = ["sh", "-c", `sleep 1000 & exec "$@"`, mark];
  const client = started(
    machine,
    ...short,
    ...["--", ...marked, ...service, "--", ...marked, ...training],
  );
  await client.said("round 1 of 2, time slicing");
  const jobs = processesIn(machine.directory);
  expect(jobs.length).toBeGreaterThanOrEqual(4);
  client.signal("SIGINT");
  const { status, stderr } = await client.ended;
  expect(status).toBe(1);
  expect(stderr).toContain("The measurement was stopped.");
  await eventually("all jobs have ended", () => processesIn(machine.directory).length === 0);
  expect(readdirSync(machine.directory)).toEqual([]);
});

test("a job that ends, a port that is taken and a wrong command line are said in a sentence", {
  timeout: PATIENCE_MS,
}, async () => {
  const machine = emptyMachine();
  const says = async (...args: string[]) => {
    const { status, stderr } = await started(machine, ...args).ended;
    return [
      status,
      stderr
        .trim()
        .split("\n")
        .filter((line) => !line.startsWith("try: "))
        .join(" "),
    ];
  };
  const failing = ["sh", "-c", "echo no such model >&2; exit 3"];
  expect(await says(...short, "--", ...service, "--", ...failing)).toEqual([
    1,
    "cotenant: The training ended with 3; it last said: no such model",
  ]);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const [, taken] = await says(
    ...[...short, "--ready", `${port}`, "--", ...service, "--", ...training],
  );
  server.close();
  expect(taken).toContain(`something answers at 127.0.0.1:${port} before the service is started`);
  const [status, few] = await says("--gpu", "soft", "--", ...service);
  expect(status).toBe(2);
  expect(few).toContain("Two commands are needed");
  const [, many] = await says("--gpu", "soft", "--", "a", "--", "b", "--", "c");
  expect(many).toContain('more than two "--"');
  const [, half] = await says("--gpu", "soft", "--metric", "m", "--", "a", "--", "b");
  expect(half).toContain("--metrics-url and --metric belong together");
});

test("an agent that has clients on the GPU is named", { timeout: PATIENCE_MS }, async () => {
  const machine = emptyMachine();
  const agent = await machine.up();
  const other = machine.load("best-effort", ["--arrivals", "closed", "--seconds", "900"]);
  await other.serving;
  const client = started(machine, ...short, "--", ...service, "--", "false");
  const { stderr } = await client.ended;
  expect(stderr).toContain(`the agent that runs (pid ${agent.pid}) has 1 client(s) on the GPU`);
  await other.finish();
});

/** Processes of a stage: its folder is in their environment. */
function processesIn(directory: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const state = readFileSync(`/proc/${pid}/status`, "utf8");
      const env = readFileSync(`/proc/${pid}/environ`, "utf8");
      return !/^State:\s+Z/m.test(state) && env.includes(`COTENANT_DIR=${directory}/`);
    } catch {
      return false;
    }
  });
}
