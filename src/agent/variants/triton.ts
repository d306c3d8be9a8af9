// Kernels get variants if the process's Triton assembles them by Cotenant's stand-ins.
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { assemblerStandIns, tritonVariable } from "#core";
import { environmentOf, printable, readOrNothing } from "../system/index.ts";

export interface Triton {
  /** These variables name no stand-in. Empty: all kernels get variants. */
  readonly past: readonly string[];
}

export function tritonOf(pid: number): Triton | undefined {
  const maps = readOrNothing(`/proc/${pid}/maps`) ?? "";
  const [, folder] = /(\/\S.*)\/_C\/libtriton\.so/.exec(maps) ?? [];
  if (folder === undefined) return undefined;
  const variables = assemblersIn(`/proc/${pid}/root${folder}`).map(tritonVariable);
  const environment = environmentOf(pid);
  return variables.length === 0 || environment.size === 0
    ? undefined
    : { past: variables.filter((one) => !namesStandIn(one, environment.get(one) ?? "")) };
}

export function assemblersIn(folder: string): readonly string[] {
  try {
    const names = readdirSync(`${folder}/backends/nvidia/bin`);
    return names
      .filter((name) => /^ptxas(-[\w-]+)?$/.test(name))
      .map(printable)
      .sort();
  } catch {
    return []; // an installation of another kind, or of another user
  }
}

/** A container has the stand-in at another path. */
const namesStandIn = (variable: string, path: string): boolean =>
  assemblerStandIns().some(
    (one) => one.variable === variable && basename(one.path) === basename(path),
  );
