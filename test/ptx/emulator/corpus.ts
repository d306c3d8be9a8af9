// The corpus as cases: what the committed PTX and the table of launches make together.
import { readFileSync } from "node:fs";
import { type Module, parse } from "#ptx";
import { contents, prepare } from "../corpus/inputs.ts";
import { type Launch, launches } from "../corpus/launches/index.ts";
import { type Case, withVariants } from "./differential.ts";

export type Arch = "sm_80" | "sm_90";

const modules = new Map<string, Module>();
const plain = new Map<string, Module>();

/** A file of the corpus as it is. */
export function plainModule(arch: Arch, file: string): Module {
  const path = `${arch}/${file}.ptx`;
  let module = plain.get(path);
  if (module === undefined) {
    module = parse(readFileSync(new URL(`../corpus/ptx/${path}`, import.meta.url), "utf8"));
    plain.set(path, module);
  }
  return module;
}

/** A file of the corpus, with all variants that are legal. */
function corpusModule(arch: Arch, file: string): Module {
  const path = `${arch}/${file}.ptx`;
  let module = modules.get(path);
  if (module === undefined) {
    module = withVariants(plainModule(arch, file));
    modules.set(path, module);
  }
  return module;
}

export const launchesFor = (arch: Arch): readonly Launch[] =>
  launches.filter(({ hopper }) => hopper !== true || arch === "sm_90");

export function corpusCase(arch: Arch, launch: Launch): Case {
  const { dynamicShared } = launch;
  return {
    module: corpusModule(arch, launch.file),
    kernel: launch.kernel,
    grid: launch.grid,
    block: launch.block,
    ...(dynamicShared === undefined ? {} : { dynamicShared }),
    fresh() {
      const prepared = prepare(launch);
      return { ...prepared, contents: () => contents(prepared) };
    },
  };
}
