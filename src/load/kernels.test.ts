import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { entryPoint, ptx } from "./kernels.ts";

test("the line above each entry tells the software GPU what to do", () => {
  for (const name of Object.values(entryPoint)) {
    const lines = ptx.split("\n");
    const at = lines.findIndex((line) => line.includes(`.entry ${name}(`));
    const [directive, entry, parameters] = lines.slice(at - 1, at + 2);
    expect(directive).toMatch(/^\/\/! soft ns=p1\*\d+\/1 sms=p4 effect=fma\(p0,1024,0x3f800000\)$/);
    expect(entry).toContain(name);
    expect(parameters).toBe(
      "  .param .u64 state, .param .u32 iterations, .param .u64 buffer, .param .u32 mask, .param .u32 sms)",
    );
  }
});

// A path, because knip would take a bare name for one of our dependencies.
const ptxas = `${process.env.CUDA_HOME ?? "/usr/local"}/bin/ptxas`;
const assembler = spawnSync(ptxas, ["--version"]).status === 0;

test.skipIf(!assembler).each(["sm_75", "sm_90"])("assembles for %s, one block to an SM", (arch) => {
  const directory = mkdtempSync(`${tmpdir()}/cotenant-ptx-`);
  writeFileSync(`${directory}/load.ptx`, ptx);
  const output = ["-o", `${directory}/load.cubin`];
  const { stderr, stdout, status } = spawnSync(
    ptxas,
    ["-v", `-arch=${arch}`, `${directory}/load.ptx`, ...output],
    { encoding: "utf8" },
  );
  rmSync(directory, { recursive: true });
  expect(status).toBe(0);
  const registers = [...`${stdout}${stderr}`.matchAll(/Used (\d+) registers/g)].map((m) =>
    Number(m[1]),
  );
  // An SM has 65,536: a block of 1,024 threads leaves no room for another from 33 on.
  expect(registers).toHaveLength(2);
  for (const used of registers) expect(used).toBeGreaterThan(32);
  expect(`${stdout}${stderr}`).not.toMatch(/[1-9]\d* bytes spill/);
});
