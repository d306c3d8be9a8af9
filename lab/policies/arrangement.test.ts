import { expect, test } from "vitest";
import { arrangementNames, parseArrangement } from "./arrangement.ts";

test("every name that is listed is understood", () => {
  for (const name of arrangementNames)
    expect(() => parseArrangement(name.replace("PERCENT", "30"))).not.toThrow();
});

test("the floor is strict, reported each request 1 ms ahead, in the mode and under the rules that are named", () => {
  expect(parseArrangement("floor-mps:chunkUs=90")).toMatchObject({
    sharing: { policy: { name: "strict" }, mode: "mps", rules: ["chunkUs=90"] },
    announceUs: 1000,
  });
  expect(parseArrangement("strict-mps").announceUs).toBe(0);
});

test.each([
  ["time-slicing", { kind: "time-slicing" }],
  ["streams", { kind: "streams" }],
  ["mps", { kind: "mps", percent: 100, priorities: false }],
  ["mps-priority", { kind: "mps", percent: 100, priorities: true }],
  ["mps-1", { kind: "mps", percent: 1, priorities: false }],
  ["mps-100", { kind: "mps", percent: 100, priorities: false }],
])("%s has both sides share so, with nothing announced", (name, sharing) => {
  expect(parseArrangement(name)).toEqual({
    sharing,
    high: true,
    bestEffort: true,
    announceUs: 0,
  });
});

test("under a policy both sides share by it, in the mode that is named", () => {
  expect(parseArrangement("orion-isolated").sharing).toMatchObject({
    kind: "cotenant",
    policy: { name: "orion" },
    mode: "isolated",
    tenants: false,
    rules: [],
  });
  expect(parseArrangement("strict-tenants:chunkUs=50").sharing).toMatchObject({
    policy: { name: "strict" },
    mode: "isolated",
    tenants: true,
    rules: ["chunkUs=50"],
  });
  expect(parseArrangement("floor").sharing).toMatchObject({
    policy: { name: "strict" },
    mode: "isolated",
  });
});

test("one side of an arrangement by itself shares as the whole does", () => {
  expect(parseArrangement("solo@mps-30")).toEqual({
    ...parseArrangement("mps-30"),
    bestEffort: false,
  });
  expect(parseArrangement("alone@orion-mps:chunkUs=50,protect=0")).toEqual({
    ...parseArrangement("orion-mps:chunkUs=50,protect=0"),
    high: false,
  });
});

test.each([
  ["mps-0", 'No arrangement is called "mps-0".'],
  ["mps-101", 'No arrangement is called "mps-101".'],
  ["xmps-30", 'No arrangement is called "xmps-30".'],
  ["mps-30x", 'No arrangement is called "mps-30x".'],
  ["strict-mps:chunkUs=1:2", "--set chunkUs=1:2: not a whole number from 20 to 20,000 (us)."],
  ["constructor", 'No arrangement is called "constructor".'],
  ["solo@streams", 'No arrangement is called "solo@streams".'],
  ["solo@fair", 'No arrangement is called "fair".'],
  ["both@mps", 'No arrangement is called "both@mps".'],
  ["floor:chunk=1", 'No rule is called "chunk".'],
])("%s is wrong use", (name, message) => {
  expect(() => parseArrangement(name)).toThrow(message);
});
