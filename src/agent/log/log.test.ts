import fc from "fast-check";
import { expect, test } from "vitest";
import {
  formatEntry,
  type Log,
  limitedLog,
  logFormats,
  logLine,
  parseEntry,
  withoutRepeats,
} from "./log.ts";

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
  expect(logLine("said", { text: "42" })).toBe('said text="42"');
  expect(logLine("said", { text: "pid=7" })).toBe('said text="pid=7"');
  expect(logLine("said", { text: " serve" })).toBe('said text=" serve"');
  expect(logLine("said", { text: "serve " })).toBe('said text="serve "');
  expect(logLine("said", { text: 'a"b' })).toBe('said text="a\\"b"');
  expect(logLine("said", { text: "" })).toBe('said text=""');
});

test.each(logFormats)("a line of %s hides nothing and is one line for every program", (format) => {
  for (const text of ["a\u2028b", "a\u0085b", "a\u009b2Jb", "a\u202eb", "a\u{e0041}b"]) {
    const line = formatEntry(format, { time, event: "held", facts: { because: text } });
    expect(line).toMatch(/^[\x20-\x7e]+$/);
    expect(parseEntry(line)?.facts.because).toBe(text);
  }
});

const time = "2026-01-02T03:04:05.678Z";

test.each(logFormats)("what is written as %s is read as it was", (format) => {
  const key = fc.constantFrom("client", "pid", "because", "gpu");
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
  );
  const facts = fc.dictionary(
    key,
    value.filter((one) => !Object.is(one, -0)),
    { noNullPrototype: true },
  );
  const event = fc.constantFrom("attached", "serving no more");
  fc.assert(
    fc.property(event, facts, (event, facts) => {
      const line = formatEntry(format, { time, event, facts });
      expect(line).not.toContain("\n");
      expect(parseEntry(line)).toEqual({ time, event, facts });
    }),
  );
});

test.each([
  "",
  "cotenant: Port 1 is taken.",
  "    at start (agent.ts:1:2)",
  "attached pid=1",
  `${time} attached pid=1 and more`,
  `${time} attached name="not closed`,
  '{"event":"attached"}',
  '{"time":"then","event":"attached"}',
  "{",
])("%j is no entry", (line) => {
  expect(parseEntry(line)).toBeUndefined();
});

test("what is tried again and again is said once, and again when hundreds of others were said", () => {
  const said: string[] = [];
  const log = withoutRepeats((event, facts) => void said.push(logLine(event, facts)));
  for (let i = 0; i < 3; i++) log("refused", { pid: 1 });
  log("refused", { pid: 2 });
  expect(said).toEqual(["refused pid=1", "refused pid=2"]);
  for (let pid = 3; pid < 300; pid++) log("refused", { pid });
  log("refused", { pid: 1 });
  expect(said.at(-1)).toBe("refused pid=1");
});

test("of lines of one kind about one user there are a hundred a minute, then one that says so, and those about others", () => {
  let now = 0;
  const lines: Parameters<Log>[] = [];
  const log = limitedLog(
    (...line) => void lines.push(line),
    () => now,
  );
  for (let i = 0; i < 1000; i++) log("attached", { pid: i, of: "uid 1" });
  expect(lines).toHaveLength(101);
  expect(lines.at(-1)).toEqual([
    "not logged",
    { event: "attached", of: "uid 1", because: "there were 100 such lines in this minute" },
  ]);
  log("attached", { of: "uid 2" });
  log("released", { of: "uid 1" });
  log("stopping");
  expect(lines).toHaveLength(104);
  now = 60e9;
  log("attached", { of: "uid 1" });
  expect(lines.at(-1)).toEqual(["attached", { of: "uid 1" }]);
});
