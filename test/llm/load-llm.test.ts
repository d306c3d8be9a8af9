// The load generator of `cotenant load-llm` against a server that answers as a test decides, and the command itself.
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { systemClock } from "#core";
import {
  type BodyOptions,
  endpoint,
  figuresOf,
  type PlanOptions,
  parseServer,
  planOf,
  play,
} from "#llm";
import { parseArrivals } from "#load";
import { parseRequestObjective } from "#policy";
import { type Answering, DONE, plainly, startServer, type TestServer, token } from "./server.ts";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** Ten requests at regular times within a fifth of a second, of 4 and 3 tokens. */
const ten: PlanOptions = {
  traffic: {
    arrivals: parseArrivals("uniform", 50),
    prompt: { mean: 4, cv: 0 },
    output: { mean: 3, cv: 0 },
  },
  omit: 0,
  seconds: 0.2,
  mostPrompt: undefined,
  mostOutput: undefined,
  seed: 1,
};

interface More {
  readonly plan?: Partial<PlanOptions>;
  readonly body?: Partial<BodyOptions>;
  readonly depth?: number;
  readonly stop?: AbortSignal;
}

async function load(url: string, { plan: changed, body, depth = 1, stop }: More = {}) {
  const plan = planOf({ ...ten, ...changed }, (path) => readFileSync(path, "utf8"));
  const api = body?.api ?? "completions";
  const { sent, beginNs } = await play(plan, {
    target: { url: endpoint(parseServer(url), api), headers: {}, timeoutMs: 60_000 },
    body: { api, prompts: "ids", model: "test-model", stopAtEos: false, promptSeed: 1, ...body },
    depth,
    now: systemClock.now,
    stop: stop ?? new AbortController().signal,
    tell: () => {},
  });
  const span = { beginNs: beginNs + plan.omit * 1e9, seconds: plan.seconds };
  return figuresOf(sent, span, [{ text: "ttft.p99=1h", ...parseRequestObjective("ttft.p99=1h") }]);
}

async function answered(answer: Answering, more?: More) {
  server = await startServer(answer);
  return { ...(await load(server.url, more)), asked: server.requests };
}

const closedLoop = { ...ten.traffic, arrivals: { kind: "closed" } } as PlanOptions["traffic"];

const all = <T>(value: T): T[] => Array.from({ length: 10 }, () => value);

test("requests have the lengths asked for, and their tokens are counted", async () => {
  const { figures, requests, asked } = await answered(plainly);
  expect(figures).toMatchObject({ requests: 10, ended: 10, failed: [] });
  expect(asked).toHaveLength(10);
  expect(asked[0]).toMatchObject({
    path: "/v1/completions",
    body: { model: "test-model", max_tokens: 3, stream: true, ignore_eos: true },
  });
  expect(requests.map(({ tokens, promptTokens }) => [tokens, promptTokens])).toEqual(all([3, 4]));
});

test("a chat is asked at its own endpoint, and chunks without text are no tokens", async () => {
  const { figures, requests, asked } = await answered(
    async (_, { event, send }) => {
      await event({ choices: [{ delta: { role: "assistant", content: "" } }] });
      await event({ choices: [{ delta: { content: "a" } }] });
      await event({ choices: [{ delta: {}, finish_reason: "stop" }] });
      await send(DONE);
    },
    { body: { api: "chat" } },
  );
  expect(asked[0]?.path).toBe("/v1/chat/completions");
  expect(figures.ended).toBe(10);
  expect(requests.map(({ tokens, itlMs }) => [tokens, itlMs.length])).toEqual(all([1, 0]));
});

test("chunks of several tokens count as the usage tells", async () => {
  const { requests } = await answered(async (_, { event, send }) => {
    await event({ ...token("a b"), usage: { completion_tokens: 2, prompt_tokens: 4 } });
    await event({ ...token("c d e"), usage: { completion_tokens: 5, prompt_tokens: 4 } });
    await send(DONE);
  });
  expect(requests.map(({ tokens }) => tokens)).toEqual(all(5));
});

test("events that come in pieces are read as they were sent", async () => {
  const { requests } = await answered(async (_, { send }) => {
    const text = `: comment\r\n\r\ndata: ${JSON.stringify(token("é"))}\r\n\r\n${DONE}`;
    for (const piece of [text.slice(0, 25), text.slice(25, 50), text.slice(50)]) await send(piece);
  });
  expect(requests.map(({ tokens, failed }) => [tokens, failed])).toEqual(all([1, undefined]));
});

test("failures are counted by name and do not end the run", async () => {
  server = await startServer(
    async (request, sending) => {
      const { event, send, reset } = sending;
      switch (request.index) {
        case 1:
          await event(token());
          return reset();
        case 2:
          return event(token());
        case 3:
          return event({ error: { message: "out of memory" } });
        case 4:
          await event({ choices: [], usage: { completion_tokens: 0, prompt_tokens: 4 } });
          return send(DONE);
        default:
          return plainly(request, sending);
      }
    },
    ({ index }) => (index >= 5 ? 503 : undefined),
  );
  const { figures } = await load(server.url);
  expect(figures).toMatchObject({ requests: 10, ended: 1, goodputPerS: 5 });
  expect(figures.failed[0]).toEqual({
    why: "HTTP status 503",
    count: 5,
    example: "refused with 503",
  });
  expect(new Set(figures.failed.slice(1).map(({ why, count }) => `${count} x ${why}`))).toEqual(
    new Set([
      "1 x connection reset",
      "1 x the stream ends early",
      "1 x the server reports an error",
      "1 x no token came",
    ]),
  );
});

test("a server that has gone fails each request", async () => {
  const gone = await startServer(plainly);
  await gone.close();
  const { figures } = await load(gone.url);
  expect(figures).toMatchObject({ ended: 0, failed: [{ why: "connection refused", count: 10 }] });
});

test("a closed loop keeps so many requests in flight and no more", async () => {
  // Each answer waits until four requests have come: fewer in flight would wait without end.
  let arrived = 0;
  let release = () => {};
  const four = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { figures } = await answered(
    async (request, sending) => {
      if (++arrived === 4) release();
      await four;
      await plainly(request, sending);
    },
    { plan: { traffic: closedLoop }, depth: 4 },
  );
  expect(figures.requests).toBeGreaterThanOrEqual(4);
  expect(server?.most()).toBe(4);
});

test("a trace is sent in its order with its lengths", async () => {
  const path = "test/data/azure/llm-2023-conv-30.csv";
  const { figures, requests } = await answered(plainly, {
    plan: { traffic: { trace: { path, rate: 60, from: 0 } }, seconds: undefined, mostOutput: 60 },
  });
  expect(figures).toMatchObject({ requests: 30, ended: 30 });
  expect(requests.slice(0, 3).map(({ promptTokens, tokens }) => [promptTokens, tokens])).toEqual([
    [374, 44],
    [396, 60],
    [879, 55],
  ]);
});

test("requests of the omitted seconds are sent, but do not count", async () => {
  const { figures, asked } = await answered(plainly, { plan: { omit: 0.2 } });
  expect(asked).toHaveLength(20);
  expect(figures.requests).toBe(10);
});

test("a run that is stopped keeps what has ended", async () => {
  const stop = new AbortController();
  const { figures } = await answered(
    async (request, sending) => {
      if (request.index === 0) return plainly(request, sending);
      stop.abort();
      await sending.event(token());
      return undefined; // there is no [DONE] any more
    },
    { plan: { traffic: closedLoop }, stop: stop.signal },
  );
  expect(figures).toMatchObject({ requests: 1, ended: 1, failed: [] });
});

interface Ended {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

const cotenant = (...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile("node", ["bin/cotenant", ...args], (error, stdout, stderr) =>
      resolve({ status: error ? Number(error.code ?? -1) : 0, stdout, stderr }),
    );
  });

const command = (...args: string[]) => cotenant("load-llm", ...args);

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
  const modelled = await cotenant("model-llm", "--seconds", "30", "--json", path);
  const tooMany = await cotenant("model-llm", "--rate", "1000000", path);
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
