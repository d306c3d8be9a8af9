// NVIDIA's own header of the release that native/driver/ describes, where one is.
import { existsSync, readdirSync, readFileSync } from "node:fs";

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
/** Its folder. */
export const include = found.find(
  (folder) => release(`${folder}/cuda.h`, "define CUDA_VERSION") === ours,
);
if (!include && process.env.CI)
  throw new Error(`cuda.h of CUDA ${ours / 1000} is missing: set CUDA_HOME=$(scripts/cuda-tools).`);
if (!include) {
  const why = found.length ? `${found.join(", ")} are of other releases` : "no cuda.h is here";
  console.warn(`SKIPPED: the driver's interface is not compared with CUDA ${ours / 1000}: ${why}.`);
}
