// The native parts for 64-bit ARM: they compile, and a program that uses the software GPU is seen and routed there, too.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const tools = ["aarch64-linux-gnu-g++", "qemu-aarch64"];
const missing = tools.filter((tool) => spawnSync(tool, ["--version"]).error);
if (missing.length > 0)
  console.error(`SKIPPED: 64-bit ARM, because ${missing.join(", ")} is missing.`);

const built = resolve("build/aarch64");
const program = "tests/interposer/calls/routing";
/** Debian's C library of that architecture. */
const system = "/usr/aarch64-linux-gnu";

describe.skipIf(missing.length > 0)("64-bit ARM, in an emulator", () => {
  const memory = mkdtempSync(join(tmpdir(), "cotenant-aarch64-"));
  afterAll(() => rmSync(memory, { recursive: true }));

  beforeAll(() => {
    const make = ["-C", "native", "-j2", "--silent", "ARCH=aarch64", "shipped"];
    const { status, stderr } = spawnSync("make", [...make, `../build/aarch64/${program}`], {
      encoding: "utf8",
    });
    expect(status, stderr).toBe(0);
  });

  test.each([
    "every hook is exported and answers dlsym",
    "versions and stream flavours are routed to the right wrapper",
    "other libraries are found as ever",
    "the kill switch gives the driver's own functions",
    "calls of a function that is not replaced are counted",
  ])("%s", (name) => {
    const variables = {
      LD_PRELOAD: `${built}/libcotenant.so`,
      LD_LIBRARY_PATH: `${built}/softgpu:${system}/lib`,
      COTENANT_SOFTGPU_DIR: memory,
    };
    const given = Object.entries(variables).flatMap(([key, value]) => ["-E", `${key}=${value}`]);
    const { status, stderr } = spawnSync(
      "qemu-aarch64",
      ["-L", system, ...given, join(built, program), name],
      { encoding: "utf8" },
    );
    expect(status, stderr).toBe(0);
  });
});
