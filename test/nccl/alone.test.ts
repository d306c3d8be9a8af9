// Ranks of a gang without an agent, in any build of the native parts: their GPUs are paused but for minimum progress, and
// so are their commits.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { environment, native } from "../native.ts";

const run = promisify(execFile);
const scratch = mkdtempSync(join(tmpdir(), "cotenant-gang-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

test.each<[program: string, name: string, ranks: number, checks: number]>([
  ["patterns", "data-parallel", 2, 20],
  ["patterns", "ring", 3, 4],
  ["patterns", "tensor-and-data-parallel", 4, 8],
  ["gangs", "different-order", 2, 2],
])("%s %s of %i ranks ends at minimum progress", async (program, name, ranks, checks) => {
  const folder = mkdtempSync(join(scratch, "gpu-"));
  const rank = async (number: number) => {
    const { stdout } = await run(
      `${native}/tests/nccl/${program}`,
      [name, join(folder, "identity")],
      {
        env: {
          ...environment(`${native}/libcotenant.so`, `${native}/libcotenant-nccl.so`),
          ...{ COTENANT_CLASS: "best-effort", COTENANT_UNPROTECTED: "1" },
          ...{ COTENANT_SOCKET: join(folder, "nobody"), COTENANT_SOFTGPU: "devices=4" },
          ...{ COTENANT_SOFTGPU_DIR: folder, MASTER_ADDR: folder, MASTER_PORT: "1" },
          ...{ RANK: `${number}`, LOCAL_RANK: `${number}`, WORLD_SIZE: `${ranks}` },
        },
        timeout: 170_000,
      },
    );
    return (JSON.parse(stdout) as { checked: number }).checked;
  };
  const all = await Promise.all(Array.from({ length: ranks }, (_, number) => rank(number)));
  expect(all).toEqual(Array(ranks).fill(checks));
});
