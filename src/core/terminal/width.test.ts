import fc from "fast-check";
import { expect, test } from "vitest";
import { table, wrap } from "./print.ts";
import { displayWidth, padEnd, truncate } from "./width.ts";

test("a wide character takes two columns, a combining one none", () => {
  expect(["serve", "größe", "模型", "e\u0301", "👩‍🚀"].map(displayWidth)).toEqual([5, 5, 4, 1, 2]);
});

test("a text is cut before the character that has no room", () => {
  expect(truncate("模型服务", 8)).toBe("模型服务");
  expect(truncate("模型服务", 7)).toBe("模型服…");
  expect(truncate("模型服务", 6)).toBe("模型…");
  expect([truncate("serve", 1), truncate("serve", 0)]).toEqual(["…", ""]);
});

test("whatever the text, it is no wider than wanted when cut, and as wide when padded", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.integer({ min: 0, max: 40 }),
      (text, columns) => {
        const cut = truncate(text, columns);
        expect(displayWidth(cut)).toBeLessThanOrEqual(columns);
        expect(displayWidth(padEnd(cut, columns))).toBe(columns);
      },
    ),
  );
});

test("tables and wrapped text count columns, not characters", () => {
  expect(
    table(
      [
        ["name", "p99"],
        ["模型", "1 ms"],
      ],
      1,
    ),
  ).toEqual(["name   p99", "模型  1 ms"]);
  expect(wrap("模型 服务 ab", 9)).toEqual(["模型 服务", "ab"]);
});
