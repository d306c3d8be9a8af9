// The command `cotenant load-llm` against a server that answers as a test decides.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { DONE, plainly, startServer, type TestServer, token } from "./server.ts";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const node = (...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile("node", args, (error, stdout, stderr) =>
      resolve({ status: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
  });

const command = (...args: string[]) => node("bin/cotenant", "load-llm", ...args);

test("the command asks the first model of the server, and prints what was measured", async () => {
  server = await startServer(plainly);
  const { status, stdout } = await command(
    ...["--url", `${server.url}/v1/`, "--arrivals", "uniform", "--rate", "10", "--seconds", "1"],
    ...[
      "--omit",
      "0",
      "--warm-up",
      "0",
      "--prompt",
      "4",
      "--output",
      "3",
      "--slo",
      "ttft.p99=10min",
    ],
  );
  expect(status).toBe(0);
  expect(server.requests[0]?.body.model).toBe("test-model");
  expect(stdout).toContain("test-model: 10 requests in 1 s, 10 ended, 0 failed\n");
  expect(stdout).toMatch(/^time to first token \(TTFT\) +\d/m);
  expect(stdout).toContain("goodput 10.00 requests/s, 100.0 % of those that arrived\n");
});

/** Runs of the command with the same seed, and the prompts that each of them sent. */
async function promptsOf(runs: readonly (readonly string[])[]): Promise<string[][]> {
  server = await startServer(plainly);
  const { url, requests } = server;
  const found: string[][] = [];
  for (const more of runs) {
    const before = requests.length;
    const { status } = await command(
      ...["--url", url, "--arrivals", "uniform", "--rate", "20", "--seconds", "0.2", "--omit", "0"],
      ...["--prompt", "lognormal:20,1", "--output", "2", ...more],
    );
    expect(status).toBe(0);
    found.push(requests.slice(before).map(({ body }) => JSON.stringify(body.prompt)));
  }
  return found;
}
const lengthsOf = (prompts: readonly string[] = []) =>
  prompts.map((prompt) => JSON.parse(prompt).length);

test("a second run sends prompts of the same lengths and other tokens, unless it is given the seed", async () => {
  const none = ["--warm-up", "0"];
  const [first = [], second = [], third = [], fourth = []] = await promptsOf([
    none,
    none,
    [...none, "--prompt-seed", "3"],
    [...none, "--prompt-seed", "3"],
  ]);
  expect(first).toHaveLength(4);
  expect(lengthsOf(second)).toEqual(lengthsOf(first));
  expect(new Set([...first, ...second]).size).toBe(8);
  expect(fourth).toEqual(third);
});

test("the warm-up is answered before the run begins, does not count and has other prompts", async () => {
  server = await startServer(plainly, ({ index }) => (index === 1 ? 503 : undefined));
  const { url, requests } = server;
  const { stdout } = await command(
    ...["--url", url, "--arrivals", "uniform", "--rate", "20", "--seconds", "0.2", "--omit", "0"],
    ...["--prompt", "5", "--output", "2", "--warm-up", "6", "--json", "--prompt-seed", "9"],
  );
  const { warmUp, promptSeed, requests: counted } = JSON.parse(stdout);
  expect(warmUp).toMatchObject({ requests: 6, failed: 1 });
  expect({ promptSeed, counted }).toEqual({ promptSeed: 9, counted: 4 });
  expect(new Set(requests.map(({ body }) => JSON.stringify(body.prompt))).size).toBe(10);
  expect(server.most()).toBeLessThanOrEqual(8);
});

test("a warm-up that is neither a number nor a time is refused", async () => {
  const { status, stderr } = await command("--rate", "1", "--warm-up", "soon");
  expect(status).toBe(2);
  expect(stderr).toContain("--warm-up soon is neither a number of requests nor a time in seconds.");
});

test("the hit rate of the server's cache of prefixes is of the run alone", async () => {
  let asked = 0;
  const counters = () =>
    `vllm:prefix_cache_queries_total ${[900, 1000][asked]}\nvllm:prefix_cache_hits_total ${[800, 825][asked++]}\n`;
  server = await startServer(plainly, undefined, counters);
  const { url } = server;
  const { stdout } = await command(
    ...["--url", url, "--arrivals", "uniform", "--rate", "20", "--seconds", "0.2", "--omit", "0"],
    ...["--prompt", "5", "--output", "2"],
  );
  expect(stdout).toContain("prefix cache hits: 25.0 % of 100 prompt tokens; --prompt-seed ");
});

test("the command names a server that is not there", async () => {
  const gone = await startServer(plainly);
  await gone.close();
  const { status, stderr } = await command("--url", gone.url, "--rate", "1");
  expect(status).toBe(1);
  expect(stderr).toContain(
    `The models of the server can't be read at ${gone.url}/v1/models: connection refused.`,
  );
});

test("the requests that the command writes are an engine for model-llm", async () => {
  server = await startServer(async ({ body }, { event, send }) => {
    for (let i = 0; i < Number(body.max_tokens); i++) {
      await pause(20);
      await event(token());
    }
    await send(DONE);
  });
  const path = join(mkdtempSync(join(tmpdir(), "cotenant-llm-")), "alone.jsonl");
  const sent = await command(
    // A token that comes while another request's prompt is read tells nothing of a step: on a slow machine that is most of them.
    ...["--url", server.url, "--arrivals", "uniform", "--rate", "8", "--seconds", "5"],
    ...["--omit", "0", "--warm-up", "0", "--prompt", "8", "--output", "12", "--each", path],
  );
  expect(sent).toMatchObject({ status: 0 });
  const modelled = await node("bin/cotenant-lab", "model-llm", "--seconds", "30", "--json", path);
  const tooMany = await node("bin/cotenant-lab", "model-llm", "--rate", "1000000", path);
  expect(tooMany).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/are more than the engine of .* serves: about \S+ at most/),
  });
  rmSync(dirname(path), { recursive: true });
  expect(modelled).toMatchObject({ status: 0 });
  const { rate, engine, recorded, rows } = JSON.parse(modelled.stdout);
  expect(rate).toBeCloseTo(8, 0);
  expect(recorded.requests).toBe(40);
  // On a machine that is slow steps are longer, and a token that comes late comes a little closer to the next.
  expect(engine.stepMs + engine.gapMs).toBeGreaterThan(16);
  expect(rows.map(({ name }: { name: string }) => name).slice(0, 3)).toEqual([
    "alone",
    "strict",
    "cotenant",
  ]);
});
