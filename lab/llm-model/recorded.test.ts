import { expect, test } from "vitest";
import { recorded } from "./recorded.ts";

const line = (more: object = {}) =>
  JSON.stringify({
    ...{ atS: 1, lateMs: 2, promptTokens: 7, tokens: 3, ttftMs: 50, itlMs: [10, 20] },
    ...more,
  });

test("requests have their tokens on one clock", () => {
  const { requests, tokens, perS, figures } = recorded(`${line()}\n\n${line({ atS: 3 })}\n`, "f");
  expect(requests).toEqual([
    { arrivedMs: 1000, promptTokens: 7, tokensMs: [1050, 1060, 1080] },
    { arrivedMs: 3000, promptTokens: 7, tokensMs: [3050, 3060, 3080] },
  ]);
  expect(tokens).toEqual([
    { prompt: 7, output: 3 },
    { prompt: 7, output: 3 },
  ]);
  expect(perS).toBe(0.5);
  expect(figures).toEqual({ requests: 2, ttftMs: [50, 50], tpotMs: [15, 15], e2eMs: [80, 80] });
});

test("a request that failed counts as an arrival only", () => {
  const { requests, perS } = recorded([line(), line({ atS: 2, ttftMs: null })].join("\n"), "f");
  expect(requests).toHaveLength(1);
  expect(perS).toBe(1);
});

test.each(["{", "7", "{}", line({ atS: "1" }), line({ itlMs: [1, null] })])(
  "a line that is no request is named: %s",
  (bad) => {
    expect(() => recorded(`${line()}\n${bad}\n`, "alone.jsonl")).toThrow(
      "alone.jsonl, line 2: this is not a request.",
    );
  },
);

test("requests that all came at once have no rate, and pieces of several tokens are no steps", () => {
  expect(recorded(`${line()}\n${line()}`, "f").perS).toBeUndefined();
  expect(recorded(line({ tokens: 4 }), "f").requests).toHaveLength(1);
  expect(() => recorded(line({ tokens: 9 }), "f")).toThrow(
    "f: the engine sent 3.0 tokens at a time",
  );
});
