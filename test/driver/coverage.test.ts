// Every entry point of NVIDIA's cuda.h is one that we replace, or one of which passed.def says why it is not.
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { include, releases } from "./cuda-h.ts";

const names = (text: string, macro: string) =>
  [...text.matchAll(new RegExp(`^${macro}\\((\\w+)`, "gm"))].map((match) => match[1] as string);

const folder = "native/driver/entries";
const entries = readdirSync(folder)
  .map((name) => readFileSync(`${folder}/${name}`, "utf8"))
  .join("");
const hooks = new Set(names(entries, "HOOK"));
const calls = new Set(names(entries, "CALL"));
const table = readFileSync("native/driver/passed.def", "utf8");
const passed = [...names(table, "PASSED"), ...names(table, "COUNTED")];

// Names that need a reason in passed.def: they submit work, or make, free or end objects that we track.
const acts =
  /^cu(Memcpy|Memset|Launch|GraphLaunch|GraphUpload|Mem(Alloc|Create|Free|Map|Unmap)|(Array|Array3D|MipmappedArray)Create|MemPool(Create|Destroy|Import)|(Green)?Ctx(Create|Destroy|Detach|Attach|RecordEvent|WaitEvent)|(Stream|Event|GraphExec)Destroy)/;

const header = (folder = include ?? "") =>
  spawnSync("g++", ["-E", "-P", "-x", "c++", "-D__CUDA_API_VERSION_INTERNAL", "-I", folder, "-"], {
    encoding: "utf8",
    input: `#include <cuda.h>
#if __has_include(<cudaProfiler.h>)
#include <cudaProfiler.h>
#endif
`,
  }).stdout;

/** The functions that cuda.h declares, all versions and forms, with their parameters. */
const functions = (text: string) =>
  new Map(
    [...text.matchAll(/CUresult\s+(cu\w+)\s*\(([^;]*)\)\s*;/g)].map((match) => [
      match[1] as string,
      match[2] as string,
    ]),
  );

/** The structs in which a stream is, by all their names. */
function structsWithStream(text: string): string[] {
  const found = [...text.matchAll(/typedef struct \w+\s*\{([^}]*)\}\s*(\w+);/g)]
    .filter((match) => /\bCUstream\b/.test(match[1] ?? ""))
    .map((match) => match[2] as string);
  const aliases = [...text.matchAll(/typedef (\w+) (\w+);/g)];
  return [
    ...found,
    ...aliases.filter((match) => found.includes(match[1] ?? "")).map((match) => match[2] ?? ""),
  ];
}

test("no entry point stands in the table twice, or is replaced and in the table", () => {
  expect(passed.filter((name, i) => passed.indexOf(name) !== i || hooks.has(name))).toEqual([]);
});

test("each reason that the table gives is one sentence of its own", () => {
  const reasons = [...table.matchAll(/^REASON\((\w+), "([^"]+\.)"\)$/gm)].map((match) => match[1]);
  const used = new Set(
    [...table.matchAll(/^PASSED\(\w+, (\w+)\)$/gm)].map((match) => match[1] as string),
  );
  expect([...used].sort()).toEqual(reasons.sort());
});

test.skipIf(!include)("every entry point of cuda.h is replaced, offered or in the table", () => {
  const all = functions(header());
  expect(all.size).toBeGreaterThan(600);
  const known = new Set([...hooks, ...calls, ...passed]);
  expect([...all.keys()].filter((name) => !known.has(name))).toEqual([]);
  expect(passed.filter((name) => !all.has(name))).toEqual([]);
});

test.skipIf(releases.length === 0).each(releases)(
  "every entry point of CUDA %s is replaced, offered or in the table",
  (_, folder) => {
    const all = functions(header(folder));
    expect(all.size).toBeGreaterThan(500);
    const known = new Set([...hooks, ...calls, ...passed]);
    expect([...all.keys()].filter((name) => !known.has(name))).toEqual([]);
  },
);

test.skipIf(!include)(
  "what takes a stream or submits work is replaced, or the table says why not",
  () => {
    const text = header();
    const structs = structsWithStream(text);
    expect(structs).toContain("CUlaunchConfig");
    const takes = new RegExp(`\\b(CUstream|${structs.join("|")})\\b`);
    const reasoned = new Set(passed);
    const open = [...functions(text)].filter(
      ([name, parameters]) =>
        (takes.test(parameters) || acts.test(name)) && !hooks.has(name) && !reasoned.has(name),
    );
    expect(open.map(([name]) => name)).toEqual([]);
  },
);
