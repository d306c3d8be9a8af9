import { expect, test } from "vitest";
import type { Bytes } from "#core";
import { alone, arrangementNamed, solo } from "./arrangements.ts";
import { processesOf, waves } from "./cast.ts";
import type { Scenario } from "./scenario.ts";

const GIB = 2 ** 30;
const job = (name: string, gib: number) => ({
  name,
  run: [name],
  memory: (gib * GIB) as Bytes,
  startsAlone: false,
  profile: undefined,
});

const scenarioOf = (...arrangements: string[]): Scenario => ({
  name: "test",
  high: job("serve", 1),
  bestEffort: [job("train", 30)],
  arriving: { kind: "poisson", rate: 0.2 },
  arrangements: [solo, alone, ...arrangements.map(arrangementNamed)],
  rounds: 3,
  requests: 1,
  seconds: 1,
  learn: 1.5,
  slo: [],
});

const always = [solo, alone];
const names = (scenario: Scenario, gib: number) =>
  waves(scenario, always, gib * GIB)?.map((wave) => wave.map(({ name }) => name));

test("arrangements that agree about a process share it", () => {
  const of = (name: string) =>
    processesOf(arrangementNamed(name), scenarioOf()).map((one) => one.name);
  expect(of("time-slicing")).toEqual([...of("solo"), ...of("alone")]);
  expect(of("floor")).toEqual(of("strict-isolated"));
  expect(of("floor:chunkUs=90")).toEqual(of("strict-isolated:chunkUs=90"));
  expect(arrangementNamed("floor-mps:chunkUs=90").announceUs).toBe(1000);
  expect(of("mps")[0]).toBe(of("mps-priority")[0]);
  const bestEffort = ["mps", "mps-priority", "mps-30", "strict-mps", "strict-mps:chunkUs=90"];
  expect(new Set(bestEffort.map((name) => of(name)[1])).size).toBe(bestEffort.length);
  expect(of("solo@mps")).toEqual([of("mps")[0]]);
});

test("a process has a name that can be a file's", () => {
  for (const name of ["strict-mps:chunkUs=100,resumeDelayUs=0", "mps-30", "streams"])
    for (const { name: process } of processesOf(arrangementNamed(name), scenarioOf()))
      expect(process).toMatch(/^[A-Za-z0-9-]+$/);
});

test("waves keep what lives side by side within the memory", () => {
  const scenario = scenarioOf("floor", "time-slicing", "mps", "mps-priority", "strict-isolated");
  expect(names(scenario, 1000)).toEqual([
    ["floor", "time-slicing", "mps", "mps-priority", "strict-isolated"],
  ]);
  // The native pair takes 31 GiB, that of floor and strict 31, MPS 31, and MPS with priority 30 more.
  expect(names(scenario, 100)).toEqual([
    ["floor", "time-slicing", "mps", "strict-isolated"],
    ["mps-priority"],
  ]);
  expect(names(scenario, 60)).toBeUndefined();
});

test("what adds no process to a wave joins it, however late it is named", () => {
  const late = ["solo@mps", "alone@mps", "alone@strict-isolated"];
  const scenario = scenarioOf("strict-isolated", "mps", "strict-mps", "off-isolated", ...late);
  expect(names(scenario, 100)).toEqual([
    ["strict-isolated", "mps", ...late],
    ["strict-mps", "off-isolated"],
  ]);
});

test("with nothing to compare there is one wave", () => {
  expect(names(scenarioOf(), 40)).toEqual([[]]);
});
