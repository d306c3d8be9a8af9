// Our declarations of the driver's interface against NVIDIA's own, where a cuda.h of that release is.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { include } from "./cuda-h.ts";

test.skipIf(!include)(`our declarations are those of ${include ?? "NVIDIA's"}/cuda.h`, () => {
  const build = mkdtempSync(join(tmpdir(), "cotenant-abi-"));
  const object = `${build}/driver/abi_check.o`;
  const made = spawnSync(
    "make",
    ["-C", "native", object, `BUILD=${build}`, `CUDA_INCLUDE=${include}`],
    { encoding: "utf8" },
  );
  const wrong = made.stderr.split("\n").filter((line) => line.includes("error:"));
  rmSync(build, { recursive: true });
  expect({ status: made.status, wrong }).toEqual({ status: 0, wrong: [] });
});
