// Runs the cases of C++ programs in the folders beside this file, each in a process of its own: the interposer
// preloaded, the software GPU as the driver.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { type Ended, runToEnd } from "../hung.ts";
import "../retries.ts"; // the type of task.meta
import { environment, native, sanitizer } from "../native.ts";
import { unsuited } from "./unsuited.ts";

const directory = mkdtempSync(join(tmpdir(), "cotenant-interposer-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const env = { ...environment(`${native}/libcotenant.so`), COTENANT_SOFTGPU: "devices=2" };

// Under a sanitizer on a busy machine most cases take seconds, and the longest a minute.
const patienceMs = 150_000;
const tries = sanitizer ? 3 : 1;

type Variables = Readonly<Record<string, string>>;

/** `again`: runs before each further try. */
async function run(
  path: string,
  name: string,
  more: Variables,
  again: (tried: number) => void,
): Promise<Ended> {
  for (let tried = 1; ; ++tried) {
    const gpu = { COTENANT_SOFTGPU_DIR: mkdtempSync(join(directory, "gpu-")) };
    const ended = await runToEnd(path, [name], { ...env, ...gpu, ...more }, patienceMs);
    // A sanitizer's report is final. Without one, an instrumented program was too slow for what its case looks at.
    const reported = /Sanitizer|runtime error/.test(ended.stderr);
    if (ended.status === 0 || reported || tried === tries) return ended;
    console.warn(`"${name}" is tried again, because try ${tried} failed: ${ended.stderr}`);
    again(tried);
  }
}

/** Each case a test. `more`: variables of these programs. */
export function testCases(programs: readonly string[], more: Variables = {}): void {
  describe.each(programs)("%s", (program) => {
    const never = unsuited(program);
    if (never) {
      test("its cases", ({ skip }) => skip(never));
      return;
    }
    const path = `${native}/tests/interposer/${program}`;
    const cases = execFileSync(path, { encoding: "utf8" }).trim().split("\n");
    test.for(cases)("%s", { timeout: tries * 2 * patienceMs }, async (name, { skip, task }) => {
      const reason = unsuited(name);
      if (reason) skip(reason);
      const { status, signal, stderr } = await run(path, name, more, (tried) => {
        task.meta.furtherTries = tried;
      });
      expect({ status, signal }, stderr).toEqual({ status: 0, signal: null });
    });
  });
}
