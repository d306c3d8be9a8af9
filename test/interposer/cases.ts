// Runs the cases of C++ programs beside this file, each in a process of its own: the interposer
// preloaded, the software GPU as the driver.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { environment, native } from "../native.ts";
import { unsuited } from "./unsuited.ts";

const directory = mkdtempSync(join(tmpdir(), "cotenant-interposer-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const env = { ...environment(`${native}/libcotenant.so`), COTENANT_SOFTGPU: "devices=2" };

/** Each case a test. */
export function testCases(programs: readonly string[]): void {
  describe.each(programs)("%s", (program) => {
    const never = unsuited(program);
    if (never) {
      test("its cases", ({ skip }) => skip(never));
      return;
    }
    const path = `${native}/tests/interposer-${program}`;
    const cases = execFileSync(path, { encoding: "utf8" }).trim().split("\n");
    test.for(cases)("%s", (name, { skip }) => {
      const reason = unsuited(name);
      if (reason) skip(reason);
      const result = spawnSync(path, [name], {
        encoding: "utf8",
        timeout: 550_000,
        env: { ...env, COTENANT_SOFTGPU_DIR: mkdtempSync(join(directory, "gpu-")) },
      });
      expect({ status: result.status, signal: result.signal, said: result.stderr }).toMatchObject({
        status: 0,
        signal: null,
      });
    });
  });
}
