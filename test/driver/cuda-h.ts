// NVIDIA's own header of the release that native/driver/ describes, where one is.
import { existsSync, readdirSync, readFileSync } from "node:fs";

const release = (path: string, before: string) =>
  Number(new RegExp(`${before}\\s*(\\d+)`).exec(readFileSync(path, "utf8"))?.[1]);
const ours = release("native/driver/abi.h", "kCudaVersion =");

const { CUDA_INCLUDE, CUDA_HOME, CUDA_PATH, COTENANT_CUDA_HEADERS } = process.env;
const fetched = COTENANT_CUDA_HEADERS
  ? readdirSync(COTENANT_CUDA_HEADERS).filter((name) => /^\d+\.\d+$/.test(name))
  : [];
const toolkits = readdirSync("/usr/local").filter((name) => name.startsWith("cuda"));
const folders = [
  ...(CUDA_INCLUDE ? [CUDA_INCLUDE.replace(/\/cuda\.h$/, "")] : []),
  ...[CUDA_HOME, CUDA_PATH].flatMap((home) => (home ? [`${home}/include`] : [])),
  ...fetched.map((name) => `${COTENANT_CUDA_HEADERS}/${name}`),
  ...toolkits.map((name) => `/usr/local/${name}/include`),
  "/usr/include",
];
const found = folders.filter((folder) => existsSync(`${folder}/cuda.h`));
/** Folders of all releases that PyPI serves, by release. None where scripts/cuda-headers has not fetched them. */
export const releases: readonly (readonly [release: string, folder: string])[] = fetched.map(
  (name) => [name, `${COTENANT_CUDA_HEADERS}/${name}`],
);
/** Its folder. */
export const include = found.find(
  (folder) => release(`${folder}/cuda.h`, "define CUDA_VERSION") === ours,
);
if (!include && process.env.CI)
  throw new Error(
    `cuda.h of CUDA ${ours / 1000} is missing: set COTENANT_CUDA_HEADERS=$(scripts/cuda-headers).`,
  );
if (!include) {
  const why = found.length ? `${found.join(", ")} are of other releases` : "no cuda.h is here";
  console.warn(`SKIPPED: the driver's interface is not compared with CUDA ${ours / 1000}: ${why}.`);
}
