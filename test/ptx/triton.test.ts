// The newest Triton that PyPI serves (scripts/triton) under the variables of `cotenant run`: which assembler it starts.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { clientEnvironment } from "#client";
import { temporaryDirectory } from "../agent/fakes.ts";
import { keepsCode } from "./ptxas.ts";
import { agentIn } from "./variant-agent.ts";

const home = process.env.COTENANT_TRITON ?? "";
if (home === "" && process.env.CI)
  throw new Error("Triton is missing: set COTENANT_TRITON to $(scripts/triton).");
if (home === "")
  console.warn("SKIPPED: no Triton compiles kernels, because COTENANT_TRITON is not set.");

const VARIANTS = ["add_one__cotenant_preempt", "add_one__cotenant_slice"];

/** Returns the machine code. `env`: variables besides those that each program has. */
async function compile(arch: string, env: Readonly<Record<string, string>>): Promise<Buffer> {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, "cache"));
  await promisify(execFile)("python3", [resolve("test/ptx/one_kernel.py"), folder, arch], {
    env: {
      ...{ PATH: process.env.PATH, PYTHONPATH: home, TRITON_CACHE_DIR: join(folder, "cache") },
      ...env,
    },
  });
  return readFileSync(join(folder, `${arch}.cubin`));
}

/** The variables of a best-effort program of an agent that makes variants. */
const bestEffort = (folder: string, socket: string) =>
  clientEnvironment(
    { kind: "best-effort", name: "train", memory: undefined, off: false },
    {
      directory: folder,
      agent: {
        ...{ version: undefined, pid: process.pid, startTime: 0, pidNamespace: 0, port: 0 },
        ...{ scope: "machine", mode: "isolated", policy: "strict", gpu: "nvidia", gpuNames: [] },
        ...{ socket, stopsKernels: true },
      },
    },
  );

test.skipIf(home === "").each(["80", "90", "100"])(
  "the newest Triton assembles variants beside its own code of sm_%s",
  async (arch) => {
    const folder = temporaryDirectory();
    const native = await compile(arch, {});
    const made = await compile(arch, bestEffort(folder, await agentIn(folder)));
    expect(VARIANTS.filter((name) => made.includes(name))).toEqual(VARIANTS);
    // Another assembler would have made other code.
    expect(keepsCode(native, made)).toBe(true);
    expect(toolsOf(made)).toEqual(toolsOf(native));
  },
);

/** The line in which the assembler names itself. */
const toolsOf = (code: Buffer) =>
  code.toString("latin1").match(/ptxas[-\w]*\0|release [\d.]+, V[\d.]+/g) ?? [];
