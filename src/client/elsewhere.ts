import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathsIn, printable, type Scope } from "#agent";

interface Elsewhere {
  readonly directory: string;
  readonly uid: number;
  readonly scope: Scope;
}

export function agentsElsewhere(directory: string): readonly Elsewhere[] {
  const directories = [...readSockets().matchAll(LISTENING)].flatMap(([, path = ""]) => {
    const folder = dirname(path);
    if (path === pathsIn(dirname(folder)).sharedSocket) return [dirname(folder)];
    return path === pathsIn(folder).socket ? [folder] : [];
  });
  return [...new Set(directories)]
    .filter((one) => one !== directory)
    .flatMap((one) => {
      const found = statusOf(one);
      const scope = existsSync(pathsIn(one).sharedSocket) ? "machine" : "user";
      return found ? [{ directory: printable(one), uid: found.uid, scope }] : [];
    });
}

/** These flags of /proc/net/unix mean that somebody accepts connections. */
const LISTENING = /^[^:]+: \S+ \S+ 00010000 \S+ \S+ +\S+ (\/.*)$/gm;

function readSockets(): string {
  try {
    return readFileSync("/proc/net/unix", "utf8");
  } catch {
    return "";
  }
}

function statusOf(directory: string) {
  try {
    return lstatSync(directory, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
