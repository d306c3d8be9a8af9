import { expect, test } from "vitest";
import { Settings } from "#protocol";
import { emitRules } from "./header.ts";
import { strict } from "./strict.ts";

test("the header sets every rule to what strict has in mode isolated before any burst", () => {
  const header = emitRules();
  const set = [...header.matchAll(/^ {2}rules\.(\w+) = (\d+);$/gm)].map(
    ([, name, value]) => [name, Number(value)] as const,
  );
  expect(Object.fromEntries(set)).toEqual(strict.rules({ isolated: true, high: [] }));
  expect(set).toHaveLength(Object.keys(Settings.fields).length);
  expect(header).toMatch(/set_strict_rules\(Settings& rules\) noexcept \{\n {2}rules\./);
});
