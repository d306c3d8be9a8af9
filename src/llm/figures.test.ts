import { describe, expect, test } from "vitest";
import { parseRequestObjective } from "#policy";
import { figuresOf } from "./figures.ts";
import type { Sent } from "./play.ts";
import { llmReport, type RunFacts } from "./report.ts";

const BEGIN = 1e9;
const MS = 1e6;

/** A request that arrives so many ms after the begin and gets text at these ms after its arrival. */
const request = (
  atMs: number,
  timesMs: readonly number[],
  more: Partial<Sent["answer"]> = {},
): Sent => {
  const arrivedNs = BEGIN + atMs * MS;
  return {
    asked: { offset: 0, prompt: 10, output: timesMs.length },
    arrivedNs,
    sentNs: arrivedNs + 0.5 * MS,
    answer: {
      timesNs: timesMs.map((ms) => arrivedNs + ms * MS),
      tokens: timesMs.length,
      promptTokens: undefined,
      failed: undefined,
      ...more,
    },
  };
};
const facts: RunFacts = {
  delayMs: 0,
  warmUp: { requests: 16, failed: 1, seconds: 3.21 },
  promptSeed: 7,
  prefixCache: { hits: 5, queries: 200, hitRate: 0.025 },
};
const failed = { why: "HTTP status 503", example: "busy" };
const figures = (sent: readonly Sent[], seconds = 10, ...slo: string[]) =>
  figuresOf(
    sent,
    { beginNs: BEGIN, seconds },
    slo.map((text) => ({ text, ...parseRequestObjective(text) })),
  );

test("times count from the arrival, not from when it was sent", () => {
  const { requests } = figures([request(100, [40, 50, 90])]);
  expect(requests).toEqual([
    {
      atS: 0.1,
      lateMs: 0.5,
      promptTokens: 10,
      tokens: 3,
      ttftMs: 40,
      tpotMs: 25,
      e2eMs: 90,
      itlMs: [10, 40],
      failed: undefined,
    },
  ]);
});

test("where the server tells more tokens than chunks, the time per token is that of tokens", () => {
  const { requests, figures: all } = figures([
    request(0, [40, 100], { tokens: 7, promptTokens: 12 }),
  ]);
  expect(requests[0]).toMatchObject({ tokens: 7, tpotMs: 10, itlMs: [60] });
  expect(all).toMatchObject({ tokensPerS: 0.7, promptTokensPerS: 1.2 });
});

test("an answer of one token has no time per token", () => {
  expect(figures([request(0, [40])]).figures.tpotMs.p50).toBeNaN();
});

test("requests of the warm-up do not count, but the tokens that they get afterwards do", () => {
  const { figures: all } = figures([request(-100, [50, 150, 250]), request(0, [10])]);
  expect(all).toMatchObject({ requests: 1, tokensPerS: 0.3, requestsPerS: 0.2 });
  expect(all.ttftMs.p99).toBe(10);
});

test("what comes after the end is not in the throughput, but in the latencies", () => {
  const { figures: all } = figures([request(9_900, [50, 150])]);
  expect(all).toMatchObject({ requests: 1, ended: 1, tokensPerS: 0.1, requestsPerS: 0 });
  expect(all.e2eMs.p50).toBe(150);
});

describe("failures", () => {
  const sent = [
    request(0, [10]),
    request(1, [], { failed }),
    request(2, [5], { failed: { ...failed, example: "busier" } }),
    request(3, [], { failed: { why: "connection reset", example: "" } }),
  ];

  test("are counted by name, and are in no latency", () => {
    const { figures: all } = figures(sent);
    expect(all).toMatchObject({ requests: 4, ended: 1 });
    expect(all.failed).toEqual([
      { why: "HTTP status 503", count: 2, example: "busy" },
      { why: "connection reset", count: 1, example: "" },
    ]);
    expect(all.ttftMs.p50).toBe(10);
  });

  test("are not in the goodput", () => {
    expect(figures(sent, 10, "ttft.p99=1s").figures.goodputPerS).toBe(0.1);
  });
});

describe("objectives", () => {
  const sent = [
    request(0, [10, 20, 30]),
    request(500, [10, 110, 210]),
    request(12_000, [90, 100, 110]),
  ];

  test("goodput counts requests within all limits", () => {
    const { figures: all } = figures(sent, 20, "ttft.p50=50ms", "tpot.p99=50ms");
    expect(all.goodputPerS).toBe(1 / 20);
    expect(all.objectives).toMatchObject([
      { text: "ttft.p50=50ms", measuredMs: 10, met: true },
      { text: "tpot.p99=50ms", measuredMs: 100, met: false },
    ]);
  });

  test("are judged in each window by itself", () => {
    const { windows } = figures(sent, 20, "ttft.p50=50ms", "tpot.p99=50ms").figures;
    expect(windows).toMatchObject([
      { fromS: 0, requests: 2, good: 1, violates: ["tpot.p99=50ms"] },
      { fromS: 10, requests: 1, good: 0, violates: ["ttft.p50=50ms"] },
    ]);
  });

  test("that nothing was measured for are not met", () => {
    expect(figures([request(0, [1])], 10, "tpot.p99=1s").figures.objectives[0]?.met).toBe(false);
  });

  test("about means are compared with means", () => {
    const { objectives } = figures(sent, 20, "ttft.mean=40ms", "tpot.mean=30ms").figures;
    expect(objectives).toMatchObject([
      { text: "ttft.mean=40ms", measuredMs: 110 / 3, met: true },
      { text: "tpot.mean=30ms", measuredMs: 40, met: false },
    ]);
  });
});

test("the report names what failed, what was missed and where", () => {
  const sent = [
    request(0, [10, 20, 30]),
    request(500, [10, 110, 210]),
    request(12_000, [90, 100, 110]),
    request(13_000, [], { failed }),
  ];
  const { figures: all } = figures(sent, 20, "ttft.p50=50ms", "tpot.p99=50ms");
  expect(llmReport("http://h:1/ tiny", all, facts)).toMatchInlineSnapshot(`
    "http://h:1/ tiny: 4 requests in 20 s, 3 ended, 1 failed
      1 x HTTP status 503, such as: busy
    warm-up before: 16 requests in 3.2 s, 1 failed

    ms                             mean    p50    p90    p99
    time to first token (TTFT)     36.7   10.0   90.0   90.0
    time per output token (TPOT)   40.0   10.0  100.0  100.0
    between tokens (ITL)           40.0   10.0  100.0  100.0
    arrival to last token (E2E)   116.7  110.0  210.0  210.0

    0.15 requests/s, 0.5 output tokens/s, 1.5 prompt tokens/s
    prefix cache hits: 2.5 % of 200 prompt tokens; --prompt-seed 7 sends the same prompts again
    ttft.p50=50ms: 10.0 ms, met
    tpot.p99=50ms: 100.0 ms, missed
    goodput 0.05 requests/s, 25.0 % of those that arrived
    windows of 10 s that miss an objective: 2 of 2: from 0 s (tpot.p99), 10 s (ttft.p50)"
  `);
});

test("the report says that this program was late", () => {
  const { figures: all } = figures([request(0, [10])]);
  expect(llmReport("t", all, { ...facts, delayMs: 4 })).not.toContain("late");
  expect(llmReport("t", all, { ...facts, delayMs: 12 })).toContain(
    "This program was 12.0 ms late at p99",
  );
});

test("the report says where prompts are not as long as they were asked for, and what is not known", () => {
  const { figures: all } = figures([request(0, [10, 20], { promptTokens: 12 })]);
  expect(all.promptTokens).toEqual({ asked: 10, counted: 12 });
  const none = { requests: 0, failed: 0, seconds: 0 };
  const report = llmReport("t", all, { ...facts, warmUp: none, prefixCache: undefined });
  expect(report).toContain("prompts have 12.0 tokens in the mean, as the server counts; 10.0 were");
  expect(report).toContain("no warm-up before\n");
  expect(report).toContain("prefix cache hits: not told by the server; --prompt-seed 7 sends");
  const same = figures([request(0, [10, 20], { promptTokens: 10 })]).figures;
  expect(llmReport("t", same, facts)).not.toContain("were asked for");
});
