// Where the parts of this package are, whether it runs from src/ or as dist/cotenant.js.
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

/** The interposer; COTENANT_LIB names another one. Throws a UserError when it is not built, or can't be preloaded. */
export function interposer(
  env: Readonly<Record<string, string | undefined>>,
  root = packageRoot(),
): string {
  const path = checkBuilt(resolve(env.COTENANT_LIB ?? join(root, "build/native/libcotenant.so")));
  // The loader goes on without what it can't find: the client would run as if there were no Cotenant.
  if (/[\s:]/.test(path)) throw cannotPreload(path);
  return path;
}

/** The gate, and the native threads of the agent. */
export const gateLibrary = (): string =>
  checkBuilt(join(packageRoot(), "build/native/libcotenant-gate.so"));

/** The folder that holds the software GPU's libcuda.so.1. */
export const softGpuFolder = (root = packageRoot()): string =>
  dirname(checkBuilt(join(root, "build/native/softgpu/libcuda.so.1")));

/** A file of ours that stands in for one of Triton's assemblers. */
export interface AssemblerStandIn {
  /** Triton takes the assembler from it. */
  readonly variable: string;
  /** The stand-in takes the real one from it, and Triton's own where it is not set. */
  readonly real: string;
  readonly path: string;
}

/** One for each of Triton's assemblers: 3.6 and later have two and choose by the architecture. None where they are not built. */
export const assemblerStandIns = (root = packageRoot()): readonly AssemblerStandIn[] =>
  ["", "-blackwell"]
    .map((suffix) => ({
      variable: tritonVariable(`ptxas${suffix}`),
      real: `COTENANT_${variablePart(`ptxas${suffix}`)}`,
      path: join(root, `build/native/cotenant-ptxas${suffix}`),
    }))
    .filter(({ path }) => existsSync(path));

/** The variable from which Triton takes a tool of its own, by Triton's rule (triton/knobs.py). */
export const tritonVariable = (tool: string): string => `TRITON_${variablePart(tool)}_PATH`;

const variablePart = (tool: string) => tool.toUpperCase().replaceAll("-", "_");

/** A path as it was given; where nothing is there and this package brings one of that name, such as bench/soc/…, its own. */
export function orShipped(path: string): string {
  const own = join(packageRoot(), path);
  return path.startsWith("bench/") && !existsSync(path) && existsSync(own) ? own : path;
}

/** How to start this same program again: `spawn(command, [...args, "status"])`. */
export const itself = (): { readonly command: string; readonly args: readonly string[] } => ({
  command: process.execPath,
  args: [...process.execArgv, process.argv[1] ?? ""],
});

/** How to start `cotenant`, from this program or from another one of this package. */
export const cotenantProgram = () => programCalled("cotenant");
/** How to start `cotenant-lab`. */
export const laboratoryProgram = () => programCalled("cotenant-lab");

const programCalled = (name: string): ReturnType<typeof itself> => ({
  command: process.execPath,
  args: [...process.execArgv, join(packageRoot(), "bin", name)],
});

function checkBuilt(path: string): string {
  if (!existsSync(path)) throw notBuilt(path);
  return path;
}
