import { expect, test } from "vitest";
import { UserError } from "#core";
import type { BenchResult } from "../scenario/result.ts";
import { alone, cell, failedCell, result, solo } from "./invented.ts";
import { parseResult } from "./parse.ts";

const ruled = { ...cell("strict-mps", 2, 0.7), rules: { chunkUs: 100, isolated: 0 } };
const good = result([solo(), alone(), cell("mps", 2, 0.7), failedCell("streams", "why"), ruled]);
const written = () => JSON.parse(JSON.stringify(good));

test("a result comes back as it was written; unknown fields are left out, null is NaN", () => {
  expect(parseResult(JSON.stringify(good), "a.json")).toEqual(good);
  const changed = { ...written(), later: 1 };
  changed.cells[2].high.latency.p99.low = null;
  const back: BenchResult = parseResult(JSON.stringify(changed), "a.json");
  expect(back).not.toHaveProperty("later");
  expect(back.cells[2]?.high?.latency.p99.low).toBeNaN();
});

test.each([
  ["{", "a.json, line 1: it ends early: was it cut short?"],
  ["[]", "a.json: it is a list, not an object."],
  ['{"version": 1, "kind": "pair"}', 'a.json, line 1, kind: is "pair", not bench.'],
  ['{"gpu": {}}', "a.json, line 1, kind: is missing."],
  ['{"version": 3,\n "kind": "bench"}', "a.json, line 1, version: is 3, not 2."],
])("%s is refused", (text, why) => {
  expect(() => parseResult(text, "a.json")).toThrow(
    new UserError("BAD_RESULT", why, "It must be a result of the bench, version 2."),
  );
});

test.each<[string, (json: ReturnType<typeof written>) => unknown]>([
  ["scenario.high.name: is 7, not a text.", (json) => (json.scenario.high.name = 7)],
  ["scenario.bestEffort: is an object, not a list.", (json) => (json.scenario.bestEffort = {})],
  ['cells[1].status: is "fine", not one of ok, failed.', (json) => (json.cells[1].status = "fine")],
  [
    "cells[2].high.latency.p99.value: is missing.",
    (json) => delete json.cells[2].high.latency.p99.value,
  ],
  [
    "cells[2].bestEffort.jobs[0].perS: is a list, not a number.",
    (json) => (json.cells[2].bestEffort.jobs[0].perS = [1]),
  ],
])("%s", (why, spoil) => {
  const json = written();
  spoil(json);
  expect(() => parseResult(JSON.stringify(json), "a.json")).toThrow(`a.json, line 1, ${why}`);
});
