import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readLlmTrace } from "./trace.ts";

const azure = readFileSync("test/data/azure/llm-2023-conv-30.csv", "utf8");
const whole = { path: "t.csv", rate: undefined, from: 0 };

test("the Azure trace of 2023 is read by its columns", () => {
  const { requests, seconds } = readLlmTrace(azure, whole);
  expect(requests).toHaveLength(30);
  expect(requests[0]).toEqual({ offset: 0, prompt: 374, output: 44 });
  expect(requests[1]).toEqual({ offset: 4_314_579_000, prompt: 396, output: 109 });
  expect(seconds).toBeCloseTo((requests.at(-1)?.offset ?? 0) / 1e9);
});

test("BurstGPT is read by its columns, without the requests that failed there", () => {
  const text = `Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,0,1087,Conversation log
118,GPT-4,417,276,693,API log
`;
  expect(readLlmTrace(text, whole)).toEqual({
    requests: [
      { offset: 0, prompt: 472, output: 18 },
      { offset: 113e9, prompt: 417, output: 276 },
    ],
    seconds: 113,
  });
});

test("a rate stretches a trace and keeps the proportions of its gaps", () => {
  const plain = readLlmTrace(azure, whole);
  const { requests, seconds } = readLlmTrace(azure, { ...whole, rate: 3 });
  expect(seconds).toBe(10);
  const factor = seconds / plain.seconds;
  requests.forEach(({ offset }, i) => {
    expect(Math.abs(offset - (plain.requests[i]?.offset ?? 0) * factor)).toBeLessThan(2);
  });
});

test("a trace may begin later", () => {
  const { requests } = readLlmTrace(azure, { ...whole, from: 4 });
  expect(requests).toHaveLength(29);
  expect(requests[0]).toEqual({ offset: 314_579_000, prompt: 396, output: 109 });
});

test.each([
  [
    "time,prompt\n1,2\n",
    't.csv has not the columns of a trace of LLM requests in its first line: "time,prompt".',
  ],
  [
    `${"\u0000".repeat(1000)}`,
    `t.csv has not the columns of a trace of LLM requests in its first line: "${"?".repeat(200)}…".`,
  ],
  [
    "Timestamp,Request tokens,Response tokens\n1,5,0\n",
    "t.csv has no request with a prompt and an answer.",
  ],
])("%j is refused", (text, message) => {
  expect(() => readLlmTrace(text, whole)).toThrow(message);
});
