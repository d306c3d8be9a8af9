// How a process's Triton assembles its kernels: by Cotenant's stand-ins, so that they get variants that stop inside, or
// past them.
import { readdirSync } from "node:fs";
import { basename } from "node:path";
import { assemblerStandIns, tritonVariable } from "#core";
import { environmentOf, printable, readOrNothing } from "../system/index.ts";

export interface Triton {
  /** Variables that name no stand-in, of assemblers that it has. Empty: all of its kernels get variants. */
  readonly past: readonly string[];
}

/** undefined: the process has loaded no Triton, or can't be looked at. */
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

/** The assemblers that the Triton in a folder brings, such as "ptxas" and "ptxas-blackwell". */
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
