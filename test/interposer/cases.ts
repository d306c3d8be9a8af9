// Runs the cases of C++ programs beside this file, each in a process of its own: the interposer
// preloaded, the software GPU as the driver.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const build = resolve("build/native");
const directory = mkdtempSync(join(tmpdir(), "cotenant-interposer-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const env = {
  PATH: process.env.PATH ?? "",
  LD_LIBRARY_PATH: `${build}/softgpu`,
  COTENANT_SOFTGPU: "devices=2",
};

/** Each case a test. */
export function testCases(programs: readonly string[]): void {
  describe.each(programs)("%s", (program) => {
    const path = `${build}/tests/interposer-${program}`;
    const cases = execFileSync(path, { encoding: "utf8" }).trim().split("\n");
    test.each(cases)("%s", (name) => {
      const result = spawnSync(path, [name], {
        encoding: "utf8",
        timeout: 550_000,
        env: {
          ...env,
          LD_PRELOAD: `${build}/libcotenant.so`,
          COTENANT_SOFTGPU_DIR: mkdtempSync(join(directory, "gpu-")),
        },
      });
      expect({ status: result.status, signal: result.signal, said: result.stderr }).toMatchObject({
        status: 0,
        signal: null,
      });
    });
  });
}
