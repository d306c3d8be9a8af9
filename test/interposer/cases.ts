// Runs the cases of C++ programs in the folders beside this file, each in a process of its own: the interposer
// preloaded, the software GPU as the driver.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { environment, native, sanitizer } from "../native.ts";
import { unsuited } from "./unsuited.ts";

const directory = mkdtempSync(join(tmpdir(), "cotenant-interposer-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const env = { ...environment(`${native}/libcotenant.so`), COTENANT_SOFTGPU: "devices=2" };

function run(path: string, name: string, tries = sanitizer ? 3 : 1): ReturnType<typeof once> {
  const result = once(path, name);
  // A sanitizer's report is final. Without one, an instrumented program was too slow for what its case looks at.
  const reported = /Sanitizer|runtime error/.test(result.stderr);
  return result.status === 0 || reported || tries === 1 ? result : run(path, name, tries - 1);
}

const once = (path: string, name: string) =>
  spawnSync(path, [name], {
    encoding: "utf8",
    timeout: 550_000,
    env: { ...env, COTENANT_SOFTGPU_DIR: mkdtempSync(join(directory, "gpu-")) },
  });

/** Each case a test. */
export function testCases(programs: readonly string[]): void {
  describe.each(programs)("%s", (program) => {
    const never = unsuited(program);
    if (never) {
      test("its cases", ({ skip }) => skip(never));
      return;
    }
    const path = `${native}/tests/interposer/${program}`;
    const cases = execFileSync(path, { encoding: "utf8" }).trim().split("\n");
    test.for(cases)("%s", (name, { skip }) => {
      const reason = unsuited(name);
      if (reason) skip(reason);
      const { status, signal, stderr } = run(path, name);
      expect({ status, signal }, stderr).toEqual({ status: 0, signal: null });
    });
  });
}
