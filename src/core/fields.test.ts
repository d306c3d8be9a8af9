import { expect, test } from "vitest";
import { usage } from "./errors.ts";
import { readJson, withPlace } from "./fields.ts";

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
