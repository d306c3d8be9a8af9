import { expect, test } from "vitest";
import { parseObjective } from "./objective.ts";

test.each([
  { texts: [], is: { p99Us: undefined, slowdown: undefined } },
  { texts: ["p99=10ms"], is: { p99Us: 10_000, slowdown: undefined } },
  { texts: ["slowdown=5%", "p99=800us"], is: { p99Us: 800, slowdown: 0.05 } },
  { texts: ["slowdown=5%", "slowdown=2.5%"], is: { p99Us: undefined, slowdown: 0.025 } },
])("$texts", ({ texts, is }) => {
  expect(parseObjective(texts)).toEqual(is);
});

test.each(["p99", "p99=", "p99=ten", "slowdown=5", "slowdown=-5%", "latency=5ms", ""])(
  'a person is told what is wrong with "%s"',
  (text) => {
    expect(() => parseObjective([text])).toThrow(/./);
  },
);
