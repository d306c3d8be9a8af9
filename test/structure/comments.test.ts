import { expect, test } from "vitest";
import { fragmentsIn } from "../../scripts/comments.ts";

test.each([
  ["// Of several engines; undefined if one is not known.", [1]],
  ["const a = 1;\n\n/** So long after the last one. */\nconst b = 2;", [3]],
  ["/**\n * What a gate sees.\n */", [2]],
  ["/** A gate.\n *\n * What it sees.\n */", [3]],
  ["# Who may connect.\nallow = all", [1]],
  ['"""Of a library, in order."""', [1]],
  ['    """What the file says."""', [1]],
  [
    "// The maximum over engines. It holds for the window\n// of the last second, and none before: it is\n// What counts.",
    [],
  ],
  ["// Whatever comes, it holds.", []],
  ["// Offsets of the file.", []],
  ['const text = "// What a shell prints";', []],
])("in %j, comments on these lines are fragments: %j", (text, lines) => {
  expect(fragmentsIn(text)).toEqual(lines);
});
