import { readFileSync } from "node:fs";

export interface HostPressure {
  readonly memory: number | undefined;
  readonly cpu: number | undefined;
}

export const hostPressure = (folder = "/proc/pressure"): HostPressure => ({
  memory: pressureIn(`${folder}/memory`, "full"),
  cpu: pressureIn(`${folder}/cpu`, "some"),
});

/** some: at least one task waited. full: all tasks did, so nothing went on. */
function pressureIn(path: string, of: "some" | "full"): number | undefined {
  try {
    const found = new RegExp(`^${of} avg10=([\\d.]+) `, "m").exec(readFileSync(path, "utf8"));
    return found ? Number(found[1]) / 100 : undefined;
  } catch {
    return undefined; // no such kernel, or switched off
  }
}
