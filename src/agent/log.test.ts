import { expect, test } from "vitest";
import { logLine } from "./log.ts";

test("a line has what happened and its facts, in their order", () => {
  expect(logLine("attached", { client: "serve", class: "best-effort", pid: 42 })).toBe(
    "attached client=serve class=best-effort pid=42",
  );
  expect(logLine("stopped")).toBe("stopped");
});

test("a text of one word, a path or an address stands as it is", () => {
  for (const text of ["serve_2", "/run/cotenant/agent.sock", "127.0.0.1:80", "GPU-00"])
    expect(logLine("said", { text })).toBe(`said text=${text}`);
  expect(logLine("said", { number: -1.5 })).toBe("said number=-1.5");
});

test("a text that could be taken for more than one fact is quoted", () => {
  expect(logLine("said", { text: "two words" })).toBe('said text="two words"');
  expect(logLine("said", { text: "pid=7" })).toBe('said text="pid=7"');
  expect(logLine("said", { text: " serve" })).toBe('said text=" serve"');
  expect(logLine("said", { text: "serve " })).toBe('said text="serve "');
  expect(logLine("said", { text: 'a"b' })).toBe('said text="a\\"b"');
  expect(logLine("said", { text: "" })).toBe('said text=""');
});
