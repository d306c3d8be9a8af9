// Which processes the library can be preloaded into: images bring C libraries of their own.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sanitizer } from "../native.ts";

const library = resolve("build/native/libcotenant.so");

/** As the guide says, docs/guide/install.md: glibc 2.28, and the C++ library of GCC 8 (libstdc++ 6.0.25). */
const NEWEST = new Map([
  ["GLIBC", "2.28"],
  ["GLIBCXX", "3.4.25"],
  ["CXXABI", "1.3.11"],
  ["GCC", "8.0"],
]);

/** The native files of the package, and the one of its packages. */
const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: string[] };
const koffi = "node_modules/@koromix/koffi-linux-x64/linux_x64/koffi.node";
const shipped = [...files.filter((path) => path.startsWith("build/native/")), koffi];

// A sanitizer's runtime is another library, and may do what we may not.
test.skipIf(sanitizer)(
  "the preloaded library brings no other into a process than the C library's",
  () => {
    const read = execFileSync("readelf", ["-d", library], { encoding: "utf8" });
    const needed = [...read.matchAll(/NEEDED.*\[(.*)\]/g)].map((match) => match[1]);
    expect(needed.sort()).toEqual(["libc.so.6", "libdl.so.2", "libpthread.so.0"]);
  },
);

test.skipIf(sanitizer).each(shipped)(
  "%s needs no newer C and C++ library than is promised",
  (path) => {
    const dynamic = execFileSync("readelf", ["-d", path], { encoding: "utf8" });
    if (dynamic.includes("There is no dynamic section")) return;
    const table = execFileSync("objdump", ["-T", path], { encoding: "utf8" });
    const needed = [...table.matchAll(/\*UND\*.*\(([A-Z]+)_([\d.]+)\) (\w+)/g)];
    expect(needed.length > 0).toBe(dynamic.includes("NEEDED"));
    const newer = needed.filter(([, library = "", version = ""]) => {
      const most = NEWEST.get(library);
      return most === undefined || byNumber.compare(version, most) > 0;
    });
    expect(newer.map(([, library, version, name]) => `${name} of ${library}_${version}`)).toEqual(
      [],
    );
  },
);

/** 2.9 comes before 2.28. */
const byNumber = new Intl.Collator("en", { numeric: true });

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
