// Our declarations of the driver's interface against NVIDIA's own, where a cuda.h of that release is.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";

const release = (path: string, before: string) =>
  Number(new RegExp(`${before}\\s*(\\d+)`).exec(readFileSync(path, "utf8"))?.[1]);
const ours = release("native/driver/abi.h", "kCudaVersion =");

const { CUDA_INCLUDE, CUDA_HOME, CUDA_PATH } = process.env;
const toolkits = readdirSync("/usr/local").filter((name) => name.startsWith("cuda"));
const folders = [
  ...(CUDA_INCLUDE ? [CUDA_INCLUDE.replace(/\/cuda\.h$/, "")] : []),
  ...[CUDA_HOME, CUDA_PATH].flatMap((home) => (home ? [`${home}/include`] : [])),
  ...toolkits.map((name) => `/usr/local/${name}/include`),
  "/usr/include",
];
const found = folders.filter((folder) => existsSync(`${folder}/cuda.h`));
const include = found.find((folder) => release(`${folder}/cuda.h`, "define CUDA_VERSION") === ours);
if (!include && process.env.CI)
  throw new Error(`cuda.h of CUDA ${ours / 1000} is missing: set CUDA_HOME=$(scripts/cuda-tools).`);
if (!include) {
  const why = found.length ? `${found.join(", ")} are of other releases` : "no cuda.h is here";
  console.warn(`SKIPPED: the driver's ABI is not compared with CUDA ${ours / 1000}: ${why}.`);
}

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
