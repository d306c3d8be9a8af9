import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { dataFolders } from "./exceptions.ts";
import {
  circlesOfFolders,
  crowdedFolders,
  importsAgainstTheOrder,
  importsOfTheLaboratory,
  importsPastDoors,
  type Offence,
} from "./structure.ts";

const tracked = execFileSync("git", ["ls-files"], { encoding: "utf8" }).trimEnd().split("\n");
const sources = tracked.filter((path) => /^(src|lab|bench|test|scripts)\/.*\.ts$/.test(path));

const crowded = crowdedFolders(tracked);
const past = importsPastDoors(sources, (path) => readFileSync(path, "utf8"));

const unexpected = (offences: readonly Offence[], exceptions: readonly string[]) =>
  offences.filter(({ room }) => !exceptions.includes(room)).map(({ text }) => text);

const unneeded = (offences: readonly Offence[], exceptions: readonly string[]) =>
  exceptions.filter((room) => !offences.some((one) => one.room === room));

test("no folder has more than 25 files", () => {
  expect(unexpected(crowded, dataFolders)).toEqual([]);
});

test("no file is imported past the door of its room", () => {
  expect(past).toEqual([]);
});

test("every import between rooms, and between parts of a room, points the way that rooms.ts says", () => {
  expect(importsAgainstTheOrder(sources, (path) => readFileSync(path, "utf8"))).toEqual([]);
});

test.each([
  ["src/core/a.ts", 'import { b } from "#ptx";'],
  ["src/agent/a.ts", 'import { b } from "#ptx";'],
  ["lab/soc/a.ts", 'import type { B } from "#cluster";'],
  ["src/ptx/analysis/a.ts", 'import { b } from "../waits/b.ts";'],
  ["src/ptx/syntax/a.ts", 'export { b } from "../index.ts";'],
  ["lab/emulator/instructions/arithmetic/a.ts", 'import { b } from "../../compile/b.ts";'],
])("in %s, %j points the wrong way", (path, text) => {
  expect(importsAgainstTheOrder([path], () => text)).toHaveLength(1);
});

test.each([
  ["src/agent/variants/a.ts", 'import { b } from "#ptx";'],
  ["src/agent/a.test.ts", 'import { b } from "#ptx";'],
  ["lab/cluster/a.ts", 'import { b } from "#place";'],
  ["src/ptx/waits/a.ts", 'import { b } from "../analysis/b.ts";'],
  ["src/ptx/index.ts", 'import { b } from "./variants/b.ts";'],
  ["lab/cluster/a.ts", 'import { b } from "#predict";'],
])("in %s, %j points the right way", (path, text) => {
  expect(importsAgainstTheOrder([path], () => text)).toEqual([]);
});

const ofRooms = sources.filter((path) => /^(src|lab)\//.test(path));

test("no folders import each other in a circle", () => {
  expect(circlesOfFolders(ofRooms, (path) => readFileSync(path, "utf8"))).toEqual([]);
});

test("a circle of folders is found, also through several and through a door", () => {
  const files: Readonly<Record<string, string>> = {
    "src/core/a/a.ts": 'import { b } from "../b/b.ts";',
    "src/core/b/b.ts": 'import type { C } from "../c/c.ts";',
    "src/core/c/c.ts": 'import { a } from "../a/other.ts";',
    "src/core/c/alone.ts": 'import { d } from "../d/d.ts";',
    "src/core/d/d.test.ts": 'import { a } from "../a/a.ts";',
    "src/agent/words/a.ts": 'import { b } from "#agent";',
    "src/agent/index.ts": 'export { a } from "./words/a.ts";',
  };
  const found = circlesOfFolders(Object.keys(files), (path) => files[path] ?? "");
  expect(found.map((sentence) => sentence.split(" ")[0])).toEqual([
    "src/core/a",
    "src/core/b",
    "src/core/c",
    "src/agent/words",
    "src/agent",
  ]);
});

const ofProduct = tracked.filter((path) => /^(src|native|scripts)\/.*\.m?ts$/.test(path));

test("nothing of the product imports the laboratory", () => {
  expect(importsOfTheLaboratory(ofProduct, (path) => readFileSync(path, "utf8"))).toEqual([]);
});

test.each([
  ["src/cli/a.ts", 'import { b } from "#soc";'],
  ["src/agent/a.test.ts", 'import { b } from "#gpu";'],
  ["src/agent/a.ts", 'const b = await import("#emulator");'],
  ["scripts/a.mjs", 'import { b } from "../lab/gpu/index.ts";'],
  ["native/a.ts", 'export { b } from "../lab/gpu/index.ts";'],
])("in %s, %j makes the product depend on the laboratory", (path, text) => {
  expect(importsOfTheLaboratory([path], () => text)).toHaveLength(1);
});

test.each([
  ["lab/soc/a.ts", 'import { b } from "#core";'],
  ["test/gpu/a.test.ts", 'import { b } from "#gpu";'],
  ["bench/a.ts", 'import { b } from "#cluster";'],
  ["src/cli/a.ts", 'import { b } from "#predict";'],
])("in %s, %j keeps the laboratory apart", (path, text) => {
  expect(importsOfTheLaboratory([path], () => text)).toEqual([]);
});

test("the laboratory goes through the product's doors, too", () => {
  const text = 'import { a } from "../../../src/policy/contract/policy.ts";';
  expect(importsPastDoors(["lab/gpu/machine/a.ts"], () => text).map(({ room }) => room)).toEqual([
    "src/policy",
  ]);
});

test("no exception is listed that nothing needs any more", () => {
  expect(unneeded(crowded, dataFolders)).toEqual([]);
});

test("a folder is crowded by its 26th file, not by those of its subfolders", () => {
  const files = Array.from({ length: 25 }, (_, i) => `src/core/${i}.ts`);
  expect(crowdedFolders([...files, "src/core/more/26.ts"])).toEqual([]);
  expect(crowdedFolders([...files, "src/core/26.ts"])).toEqual([
    { room: "src/core", text: "src/core has 26 files, 25 are allowed" },
  ]);
});

test.each([
  'import { a } from "../ptx/syntax/parse.ts";',
  'import type { A } from "../ptx/syntax/parse.ts";',
  'export { a } from "../ptx/syntax/parse.ts";',
  'import "../ptx/syntax/parse.ts";',
  'const a = await import("../ptx/syntax/parse.ts");',
  'import {\n  a,\n  b,\n} from "../ptx/syntax/parse.ts";',
])("%j in another room goes past the door", (text) => {
  expect(importsPastDoors(["src/core/a.ts"], () => text)).toEqual([
    {
      room: "src/ptx",
      text: "src/core/a.ts imports src/ptx/syntax/parse.ts past the door #ptx",
    },
  ]);
});

test("a test that imports a file of a room goes past its door, too", () => {
  const text = 'import { a } from "../src/core/clock.ts";';
  expect(importsPastDoors(["test/a.ts"], () => text).map(({ room }) => room)).toEqual(["src/core"]);
});

test.each([
  ["src/ptx/variants/slice.ts", 'import { parse } from "../syntax/parse.ts";'],
  ["src/core/a.ts", 'import { parse } from "#ptx";'],
  ["src/core/a.ts", 'import { parse } from "../ptx/index.ts";'],
  ["test/ptx/a.ts", 'import { b } from "../emulator/b.ts";'],
])("in %s, %j is no import past a door", (path, text) => {
  expect(importsPastDoors([path], () => text)).toEqual([]);
});
