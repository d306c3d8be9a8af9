// Native parts that were built in another folder at another time are the same files. Two of them stand for all, which
// have the same flags.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, test } from "vitest";

/** Included by the makefile. */
const measuring = ["bench/cost/build.mk"];

test.each(["libcotenant-gate.so", "cotenant"])("%s is built twice alike", (name) => {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-again-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of ["native", ...measuring])
    cpSync(path, join(folder, path), { recursive: true });
  for (const file of readdirSync(join(folder, "native"), { recursive: true, encoding: "utf8" }))
    utimesSync(join(folder, "native", file), 1e9, 1e9);
  execFileSync("make", ["-C", join(folder, "native"), `../build/native/${name}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [here, there] = ["build", join(folder, "build")].map((build) =>
    readFileSync(join(build, "native", name)),
  );
  // An expectation would print both.
  if (!here?.equals(there ?? Buffer.alloc(0)))
    throw new Error(`${name} depends on where or when it is built`);
});
