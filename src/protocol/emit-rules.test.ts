import { expect, test } from "vitest";
import { emitRules, ruleTable } from "./emit-rules.ts";
import { ruleNames, usualRules } from "./rules.ts";

const header = emitRules();

test("the header sets every rule to its default", () => {
  const set = [...header.matchAll(/^ {2}rules\.(\w+) = (\d+);$/gm)].map(
    ([, name, value]) => [name, Number(value)] as const,
  );
  expect(set).toEqual([["known", ruleNames.length], ...Object.entries(usualRules)]);
});

test.each([
  ["chunk_us", "return v < 20 ? 20 : v > 20000 ? 20000 : v;"],
  ["renew_us", "return v == 0 ? 0 : v < 200 ? 200 : v;"],
  ["budget_us", "return v;"],
  ["protect", "return v != 0;"],
  ["graph_gates", "return static_cast<protocol::GraphGates>(v <= 2 ? v : 0);"],
])("the reader of %s forces what it finds into the range", (name, code) => {
  const from = header.indexOf(` ${name}(const protocol::Settings& settings)`);
  expect(header.slice(from, header.indexOf("}", from))).toContain(code);
});

test("the table for people has a line for each rule, with what 0 stands for", () => {
  const lines = ruleTable().join("\n");
  for (const name of ruleNames) expect(lines).toContain(`| \`${name}\` |`);
  expect(lines).toContain("0: no budget");
  expect(lines).toContain("a whole number of at least 20,000 (us), or 0: never");
});
