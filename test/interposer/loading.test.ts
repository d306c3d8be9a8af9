// Which processes the library can be preloaded into: images bring C libraries of their own.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sanitizer } from "../native.ts";

const library = resolve("build/native/libcotenant.so");

/** As the guide says, docs/guide/install.md. */
const OLDEST = [2, 28];

// A sanitizer's runtime is another library, and may do what we may not.
test.skipIf(sanitizer)(
  "the preloaded library brings no other into a process than the C library's",
  () => {
    const read = execFileSync("readelf", ["-d", library], { encoding: "utf8" });
    const needed = [...read.matchAll(/NEEDED.*\[(.*)\]/g)].map((match) => match[1]);
    expect(needed.sort()).toEqual(["libc.so.6", "libdl.so.2", "libpthread.so.0"]);
  },
);

test.skipIf(sanitizer)("it needs no function that glibc 2.28 lacks", () => {
  const table = execFileSync("objdump", ["-T", library], { encoding: "utf8" });
  const needed = [...table.matchAll(/\*UND\*.*\(GLIBC_(\d+)\.(\d+)(?:\.\d+)?\) (\w+)/g)];
  expect(needed.map(([, , , name]) => name)).toContain("pthread_create");
  const newer = needed.filter(([, major, minor]) => {
    const [oldestMajor = 0, oldestMinor = 0] = OLDEST;
    return Number(major) > oldestMajor || Number(minor) > oldestMinor;
  });
  expect(newer.map(([, major, minor, name]) => `${name} of ${major}.${minor}`)).toEqual([]);
});

const musl = spawnSync("musl-gcc", ["--version"]).status === 0;
if (!musl) console.error("SKIPPED: a program of musl, because musl-gcc is missing.");

test.skipIf(sanitizer || !musl)("a program of musl runs as if the library were not there", () => {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-musl-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const program = join(directory, "program");
  const answer = join(directory, "answer.c");
  writeFileSync(answer, "int answer(void) { return 42; }\n");
  execFileSync("musl-gcc", ["-shared", "-fPIC", answer, "-o", join(directory, "libanswer.so")]);
  execFileSync("musl-gcc", ["test/interposer/loading/musl.c", "-o", program]);
  const run = (env: Record<string, string>) => {
    const { status, stdout, stderr } = spawnSync(program, {
      encoding: "utf8",
      cwd: directory,
      env,
    });
    return { status, stdout, stderr };
  };
  const alone = run({});
  expect(alone).toEqual({ status: 0, stdout: "42 1 1 1 3\n", stderr: "" });
  const preloaded = { LD_PRELOAD: library, COTENANT_CLASS: "best-effort" };
  expect(run(preloaded)).toEqual(alone);
});
