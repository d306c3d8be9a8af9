// The blocks of shell in the guide's pages and the README do what a reader expects when they are typed as they stand: on
// the software GPU, in a folder and with an agent of their own. runnable.ts says which, and why others are not run.
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { cotenantItself, emptyMachine, temporaryDirectory } from "../e2e/machine.ts";
import { type Block, blocksOf, isShell, pages } from "./blocks.ts";
import { runs } from "./runnable.ts";

const shell = pages.flatMap((page) => blocksOf(page).filter(isShell));
const firstLine = ({ lines }: Block): string => lines[0] ?? "";
const programs = ["serve.py", "train.py", "other.py"];
const used = ["bench", "test", "workloads"];

const usesTheGpu = `import ctypes
driver, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
assert driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096)) == 0
assert driver.cuMemsetD8_v2(memory, ctypes.c_ubyte(1), ctypes.c_size_t(4096)) == 0
assert driver.cuCtxSynchronize() == 0
`;

/** Makes a folder with what the guide names: the repository's folders, and jobs that use the GPU for a moment. What enters it. */
function beginning(): readonly string[] {
  const root = temporaryDirectory();
  const folder = `${root}/work`;
  for (const path of [folder, `${root}/bin`, `${root}/home`]) mkdirSync(path);
  for (const path of used) symlinkSync(`${process.cwd()}/${path}`, `${folder}/${path}`);
  for (const program of programs) writeFileSync(`${folder}/${program}`, usesTheGpu);
  const config = `${root}/config.toml`;
  writeFileSync(config, '[up]\ngpu = "soft"\n');
  const command = (name: string, words: readonly string[]) => {
    writeFileSync(`${root}/bin/${name}`, `#!/bin/sh\nexec ${words.join(" ")} "$@"\n`);
    chmodSync(`${root}/bin/${name}`, 0o755);
  };
  command("cotenant", cotenantItself);
  command("cotenant-lab", [process.execPath, resolve("bin/cotenant-lab")]);
  command("python", ["python3"]);
  return [
    `cd ${folder}`,
    `export PATH=${root}/bin:$PATH HOME=${root}/home PYTHONPATH=${process.cwd()}/python PYTHONDONTWRITEBYTECODE=1`,
    `export COTENANT_CONFIG=${config}`,
  ];
}

describe.each(Object.entries(runs))("%s", (page, table) => {
  test.each(Object.entries(table))("%s", async (line, { agent, without = {} }) => {
    const block = shell.find((one) => one.page === page && firstLine(one) === line);
    if (!block) throw new Error(`${page} has no such block`);
    const left = Object.keys(without);
    for (const words of left)
      expect(
        block.lines.filter((one) => one.includes(words)),
        words,
      ).toHaveLength(1);
    const lines = block.lines.filter((one) => !left.some((words) => one.includes(words)));
    const machine = emptyMachine();
    if (agent === "before") await machine.up();
    const script = [...beginning(), ...lines].join("\n");
    const { status, stdout, stderr } = await machine.elsewhere(["bash", "-ec", script]).ended;
    expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
    // A job that was to use the GPU has done so as a client.
    if (script.includes(".py")) expect(stderr).not.toContain("no CUDA context");
  });
});
