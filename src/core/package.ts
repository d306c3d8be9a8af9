import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cannotPreload, notBuilt } from "./errors.ts";

export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`no package.json above ${import.meta.url}`);
    folder = parent;
  }
  return folder;
}

export const packageVersion = (): string =>
  JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")).version;

/** Throws a UserError when no library is built or preloadable. COTENANT_LIB names another one. */
export function interposer(
  env: Readonly<Record<string, string | undefined>>,
  root = packageRoot(),
): string {
  const path = checkBuilt(resolve(env.COTENANT_LIB ?? join(root, "build/native/libcotenant.so")));
  // The loader ignores a library that it can't find: the client would run without Cotenant.
  if (/[\s:]/.test(path)) throw cannotPreload(path);
  return path;
}

/** The library beside the interposer that ranks of a gang preload, too; undefined: it is not there. */
export function ncclLibrary(interposerPath: string): string | undefined {
  const path = join(dirname(interposerPath), "libcotenant-nccl.so");
  return existsSync(path) ? path : undefined;
}

export const gateLibrary = (): string =>
  checkBuilt(join(packageRoot(), "build/native/libcotenant-gate.so"));

export const softGpuFolder = (root = packageRoot()): string =>
  dirname(checkBuilt(join(root, "build/native/softgpu/libcuda.so.1")));

export interface AssemblerStandIn {
  readonly variable: string;
  readonly real: string;
  readonly path: string;
}

/** Triton 3.6 and later have two assemblers and choose by the architecture. */
export const assemblerStandIns = (root = packageRoot()): readonly AssemblerStandIn[] =>
  ["", "-blackwell"]
    .map((suffix) => ({
      variable: tritonVariable(`ptxas${suffix}`),
      real: `COTENANT_${variablePart(`ptxas${suffix}`)}`,
      path: join(root, `build/native/cotenant-ptxas${suffix}`),
    }))
    .filter(({ path }) => existsSync(path));

/** The rule is Triton's for a tool of the user's own (triton/knobs.py). */
export const tritonVariable = (tool: string): string => `TRITON_${variablePart(tool)}_PATH`;

const variablePart = (tool: string) => tool.toUpperCase().replaceAll("-", "_");

export function orShipped(path: string): string {
  const own = join(packageRoot(), path);
  return path.startsWith("bench/") && !existsSync(path) && existsSync(own) ? own : path;
}

export const itself = (): { readonly command: string; readonly args: readonly string[] } => ({
  command: process.execPath,
  args: [...process.execArgv, process.argv[1] ?? ""],
});

export const cotenantProgram = () => programCalled("cotenant");
export const laboratoryProgram = () => programCalled("cotenant-lab");

const programCalled = (name: string): ReturnType<typeof itself> => ({
  command: process.execPath,
  args: [...process.execArgv, join(packageRoot(), "bin", name)],
});

function checkBuilt(path: string): string {
  if (!existsSync(path)) throw notBuilt(path);
  return path;
}
