import fc from "fast-check";
import { expect, test } from "vitest";
import { usage } from "./errors.ts";
import { readJson, withPlace } from "./fields.ts";
import { parseJson } from "./json.ts";

test.each([
  ["", 1, "", "it is empty."],
  [" \n", 2, "", "it is empty."],
  ['{"a": 1,\n "b": [1, 2', 2, "b[1]", "it ends early: was it cut short?"],
  ['{"a": 1,\n "b": "tex', 2, "b", "it ends early: was it cut short?"],
  ['{"a": 1,\n}', 2, "a", 'it has "}" where JSON has a name in quotes.'],
  ['{"a": 1\n "b": 2}', 2, "a", 'it has "\\"b\\":" where JSON has "," or "}".'],
  ["[1,\n\n2 3]", 3, "[1]", 'it has "3]" where JSON has "," or "]".'],
  ["[1,\n]", 2, "[1]", 'it has "]" where JSON has a value.'],
  ['{"a"\n1}', 2, "a", 'it has "1}" where JSON has ":".'],
  ["{a: 1}", 1, "", 'it has "a:" where JSON has a name in quotes.'],
  ["[1, tru", 1, "[1]", "it ends early: was it cut short?"],
  ["[NaN]", 1, "[0]", 'it has "NaN]" where JSON has a value.'],
  ["{}\n{}", 2, "", 'it has "{}" where JSON has nothing more.'],
  ["[1}", 1, "[0]", 'it has "}" where JSON has "," or "]".'],
  ['["a\n"]', 1, "[0]", 'it has "\\"a" where JSON has a value.'],
  ["[01]", 1, "[0]", 'it has "1]" where JSON has "," or "]".'],
  ["hello world", 1, "", 'it has "hello" where JSON has a value.'],
])("%j fails on line %i, %s: %s", (text, line, field, why) => {
  expect(parseJson(text)).toEqual({ ok: false, line, field, why });
});

test("a value cut short anywhere is said to end early or on its last line", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (json, at) => {
      const text = JSON.stringify(JSON.parse(json), undefined, 1);
      const cut = text.slice(0, at % text.length);
      const parsed = parseJson(cut);
      if (parsed.ok) expect(JSON.parse(cut)).toEqual(parsed.value);
      else expect(parsed.line).toBe(cut.split("\n").length);
    }),
  );
});

// Each takes time in proportion to its length, or this test does not end.
test.each([
  ["a long string", `["${"a".repeat(1e6)}`],
  ["a long string of escapes", `["${"\\n".repeat(1e6)}`],
  ["a string with a line break far behind", `["${"a".repeat(1e6)}\n"]`],
  ["blanks", `[${" ".repeat(1e6)}`],
  ["lists in lists", "[".repeat(1e6)],
  ["objects in objects", '{"a":'.repeat(2e5)],
])("%s that is damaged at its end is refused", (_what, text) => {
  const parsed = parseJson(text);
  expect(parsed).toMatchObject({ ok: false });
  expect(JSON.stringify(parsed).length).toBeLessThan(1000);
});

test("a field is found in a text whose values are many, deep and have long names", () => {
  const deep = `${"[".repeat(2e5)}${"]".repeat(2e5)}`;
  const long = "n".repeat(2e5);
  const text = `{"deep": ${deep},\n"many": [${"1,".repeat(2e5)}1],\n"${long}": {"a":\n 1}}`;
  const parsed = parseJson(text);
  expect(parsed.ok).toBe(true);
  if (!parsed.ok) return;
  expect(["deep", "many", "many[200000]", `${long}.a`].map(parsed.lineOf)).toEqual([1, 2, 2, 4]);
});

test("a field's line is where its value begins; one that is not there has the line of what should hold it", () => {
  const text = '{"a": [1,\n {"b c": 2,\n  "d":\n [3]}],\n "e": {}}';
  const parsed = parseJson(text);
  expect(parsed.ok).toBe(true);
  if (!parsed.ok) return;
  const lines = [
    "",
    "a",
    "a[1]",
    "a[1].b c",
    "a[1].d",
    "a[1].d[0]",
    "e",
    "e.f.g",
    "a[1].d[4]",
    "x",
  ];
  expect(lines.map(parsed.lineOf)).toEqual([1, 1, 2, 2, 4, 4, 5, 5, 4, 1]);
});

const refused = (text: string, file: string) => {
  try {
    readJson(text, file, (...[path, place, what, hint]) =>
      usage(withPlace(path, place, what), hint),
    );
  } catch (error) {
    return (error as { readonly hint: string }).hint;
  }
  throw new Error("it is JSON");
};

test.each([
  [
    "net.onnx",
    "\b\u0007\u0012",
    'It seems to be an ONNX model: "cotenant-lab soc groups net.onnx" reads it.',
  ],
  [
    "jobs.csv",
    "submitted,seconds\n1,2\n",
    "It seems to be a table (CSV): a scenario names it as its trace of jobs (docs/guide/cluster.md).",
  ],
  ["photo", "\u0000\u0001", "It is no text."],
  ["a.json", '{"a": 1,\n', ""],
  ["a.json", "one, two\nthree\n", ""],
])("of %s another kind of file is named where it is one", (file, text, hint) => {
  expect(refused(text, file)).toBe(hint);
});
