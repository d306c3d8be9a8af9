// The load generator of `cotenant load-llm` against a server that answers as a test decides. The command: command.test.ts.
import { readFileSync } from "node:fs";
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
  maxPrompt: undefined,
  maxOutput: undefined,
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
    plan: { traffic: { trace: { path, rate: 60, from: 0 } }, seconds: undefined, maxOutput: 60 },
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
