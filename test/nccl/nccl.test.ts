// The stand-in for NCCL: ranks on several devices of the software GPU, and the device of a rank that waits.
import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { environment, native } from "../native.ts";

const run = promisify(execFile);
let scratch = "";
let folders = 0;

beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), "cotenant-nccl-"));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

interface Outcome {
  readonly checked: number;
  readonly stderr: string;
  readonly signal: string | undefined;
}

/** Runs `ranks` ranks of a program, each on a device of its own, or one process that has all of them. */
async function outcomes(program: string, name: string, ranks: number, processes = ranks) {
  const folder = join(scratch, `${++folders}`);
  const rank = async (number: number): Promise<Outcome> => {
    try {
      const { stdout, stderr } = await run(
        `${native}/tests/nccl/${program}`,
        [name, join(folder, "identity")],
        {
          env: {
            ...environment(),
            ...{ COTENANT_SOFTGPU: "devices=4", COTENANT_SOFTGPU_DIR: folder },
            ...{ RANK: `${number}`, LOCAL_RANK: `${number}`, WORLD_SIZE: `${ranks}` },
          },
          timeout: 550_000,
        },
      );
      const { checked } = JSON.parse(stdout || '{"checked": 0}') as { checked: number };
      return { checked, stderr, signal: undefined };
    } catch (error) {
      const { signal } = error as { signal?: string };
      if (signal !== "SIGKILL") throw error;
      return { checked: 0, stderr: "", signal };
    }
  };
  mkdirSync(folder, { mode: 0o700 });
  const all = await Promise.all(Array.from({ length: processes }, (_, number) => rank(number)));
  return { folder, all };
}

const patterns: [name: string, ranks: number, checks: number][] = [
  ["data-parallel", 2, 20],
  ["data-parallel", 4, 20],
  ["sharded-data-parallel", 4, 4],
  ["pipeline", 2, 4],
  ["pipeline", 4, 4],
  ["ring", 3, 4],
  ["tensor-and-data-parallel", 4, 8],
  ["captured", 2, 1],
  ["types", 2, 13],
];

test.each(patterns)("%s of %i ranks ends with the right results", async (name, ranks, checks) => {
  const { folder, all } = await outcomes("patterns", name, ranks);
  expect(all.map(({ checked }) => checked)).toEqual(Array(ranks).fill(checks));
  expect(all.map(({ stderr }) => stderr)).toEqual(Array(ranks).fill(""));
  // The ranks' shared files have no name any more.
  expect(readdirSync(folder).filter((file) => file.startsWith("nccl-"))).toEqual([]);
});

test("one process with four devices ends with the right results", async () => {
  const { all } = await outcomes("patterns", "one-process", 4, 1);
  expect(all.map(({ checked }) => checked)).toEqual([4]);
});

test.each(["late", "paused"])("a rank that is %s keeps its peer's device busy", async (name) => {
  const { all } = await outcomes("waits", name, 2);
  expect(all.map(({ checked }) => checked)).toEqual([1, 1]);
});

test("a killed rank's peer spins until its communicator is aborted", async () => {
  const { all } = await outcomes("waits", "killed", 2);
  expect(all.map(({ signal }) => signal)).toEqual([undefined, "SIGKILL"]);
  expect(all.map(({ checked }) => checked)).toEqual([1, 0]);
});

test("ranks that call different operations are reported", async () => {
  const { all } = await outcomes("waits", "mismatch", 2);
  for (const { stderr } of all) expect(stderr).toContain("call different operations as number 1.");
});

const names = (file: string, word: string) =>
  [
    ...readFileSync(`test/nccl/library/${file}`, "utf8").matchAll(
      new RegExp(`^${word}\\((?:[^,()]+, )?(\\w+)`, "gm"),
    ),
  ]
    .map((match) => match[1] ?? "")
    .sort();

test("each function is exported by both of its names", () => {
  const symbols = execFileSync(
    "nm",
    ["-D", "--defined-only", join(native, "tests/nccl/libnccl.so.2")],
    {
      encoding: "utf8",
    },
  );
  const exported = (kind: string) =>
    [...symbols.matchAll(new RegExp(` ${kind} (p?nccl\\w+)`, "g"))]
      .map((match) => match[1] ?? "")
      .sort();
  const all = [...names("entries.def", "ENTRY"), ...names("lacking.def", "LACKING")].sort();
  expect(exported("W")).toEqual(all);
  expect(exported("T")).toEqual(all.map((name) => `p${name}`).sort());
});

// Where the headers of CUDA are fetched, this one is, too.
const header =
  process.env.COTENANT_CUDA_HEADERS &&
  execFileSync("scripts/nccl-header", { encoding: "utf8" }).trim();
if (!header)
  console.error("SKIPPED: NVIDIA's nccl.h. Set COTENANT_CUDA_HEADERS=$(scripts/cuda-headers).");

const words = (text: string) => text.replaceAll("std::", "").match(/\w+|[*,]/g) ?? [];

test.skipIf(!header)("the declarations are those of NVIDIA's nccl.h", () => {
  const text = readFileSync(header ?? "", "utf8").replaceAll(/\/\*.*?\*\//gs, "");
  const theirs = new Map(
    [...text.matchAll(/^\s*(ncclResult_t|const char\s*\*|void)\s+(nccl\w+)\s*\(([^)]*)\);/gm)].map(
      ([, result = "", name = "", parameters = ""]) => [name, words(`${result} ${parameters}`)],
    ),
  );
  const listed = [...names("entries.def", "ENTRY"), ...names("lacking.def", "LACKING")].sort();
  expect([...theirs.keys()].sort()).toEqual(listed);
  const entries = readFileSync("test/nccl/library/entries.def", "utf8").matchAll(
    /^ENTRY\(([^,]+), (\w+),\s+\(([^)]*)\),/gm,
  );
  const ours = [...entries].map(([, result = "", name = "", parameters = ""]) => [
    name,
    words(`${result} ${parameters}`),
  ]);
  expect(ours.length).toBe(names("entries.def", "ENTRY").length);
  for (const [name, declared] of ours)
    expect([name, theirs.get(name as string)]).toEqual([name, declared]);
});
