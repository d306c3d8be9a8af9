// Agents in other directories than the one where a command looks, for messages that say where they are.
import { existsSync, lstatSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathsIn, printable, type Scope } from "#agent";

/** An agent that listens on this machine. */
interface Elsewhere {
  readonly directory: string;
  /** The user whom it belongs to. */
  readonly uid: number;
  readonly scope: Scope;
}

/** In other directories than this one. */
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

/** A line of /proc/net/unix whose flags say that somebody accepts connections, and its path. */
const LISTENING = /^[^:]+: \S+ \S+ 00010000 \S+ \S+ +\S+ (\/.*)$/gm;

/** Sockets of the network namespace that this process is in. */
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
