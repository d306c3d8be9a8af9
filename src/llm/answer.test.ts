import { expect, test } from "vitest";
import { readEvent, refusalOf } from "./answer.ts";

const chunk = (more: object) => readEvent(JSON.stringify(more));
const delta = (of: object) => chunk({ choices: [{ delta: of }] });

test.each([
  ["a completion", chunk({ choices: [{ text: "a" }] }), true],
  ["a chat", delta({ content: "a" }), true],
  ["reasoning", delta({ content: null, reasoning_content: "a" }), true],
  ["reasoning of newer servers", delta({ reasoning: "a" }), true],
  ["a call of a tool", delta({ tool_calls: [{}] }), true],
  ["the first chunk of a chat", delta({ role: "assistant", content: "" }), false],
  ["an empty text", chunk({ choices: [{ text: "", finish_reason: "stop" }] }), false],
  [
    "the usage alone",
    chunk({ choices: [], usage: { completion_tokens: 3, prompt_tokens: 2 } }),
    false,
  ],
])("%s has text or not", (_, said, text) => {
  expect(said).toMatchObject({ kind: "chunk", text });
});

test("the usage tells the tokens made until now", () => {
  expect(
    chunk({ choices: [{ text: "a b c" }], usage: { completion_tokens: 3, prompt_tokens: 9 } }),
  ).toMatchObject({ text: true, made: 3, promptTokens: 9 });
  expect(chunk({ choices: [{ text: "a" }], usage: null })).toMatchObject({ made: undefined });
});

test("the end and errors are no chunks", () => {
  expect(readEvent("[DONE]")).toEqual({ kind: "end" });
  expect(chunk({ error: { message: "out of memory" } })).toEqual({
    kind: "error",
    message: "out of memory",
  });
  expect(chunk({ error: "Model is overloaded", error_type: "overloaded" })).toEqual({
    kind: "error",
    message: "Model is overloaded",
  });
  expect(readEvent("{")).toMatchObject({ kind: "error" });
});

test.each([
  ['{"error":{"message":"too long"}}', "too long"],
  ['{"message":"too long","object":"error"}', "too long"],
  ["<html>Bad Gateway</html>", "<html>Bad Gateway</html>"],
  ["", ""],
])("a refusal %j says why", (body, why) => {
  expect(refusalOf(body)).toBe(why);
});
