// Facts of other processes from /proc. A process is identified by its pid and its start time together, because the
// pid alone may have been reused.
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/**
 * Field 22 of /proc/PID/stat, in clock ticks since boot; undefined if the process has ended or is a zombie. Throws if
 * this process cannot open files now, which says nothing about the other one.
 */
export const startTimeOf = (pid: number): number | undefined => statOf(pid)?.startTime;

/** undefined if the process has ended or is a zombie. */
function statOf(pid: number): { readonly parent: number; readonly startTime: number } | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may contain spaces and parentheses. So fields are counted from the last parenthesis.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  return { parent: Number(rest[0]), startTime: Number(rest[18]) };
}

/** Whether a signal or a debugger has stopped the process. */
export function isStopped(pid: number): boolean {
  const stat = readOrNothing(`/proc/${pid}/stat`) ?? "";
  return "Tt".includes(stat[stat.lastIndexOf(")") + 2] ?? "-");
}

/** In doubt, a process counts as alive. */
export function isAlive(pid: number, startTime: number): boolean {
  try {
    return startTimeOf(pid) === startTime;
  } catch {
    return true;
  }
}

/** A process, told from a later one with the same pid. */
export interface Process {
  readonly pid: number;
  readonly startTime: number;
}

/** No program starts so many generations of processes. */
const MAX_GENERATIONS = 64;

/**
 * Whether a living process descends from another one, by parents that live: a process whose parent has ended is the child of
 * another. Throws if this process cannot open files now.
 */
export function isDescendant({ pid, startTime }: Process, ancestor: Process): boolean {
  let child = pid;
  for (let i = 0; i < MAX_GENERATIONS; i++) {
    const parent = parentOf(child);
    if (parent === undefined || parent === 0) return false;
    const isThere = parent === ancestor.pid && startTimeOf(parent) === ancestor.startTime;
    // Asked again: as long as a process has its parent, that pid is given to no other.
    if (parentOf(child) !== parent) return false;
    if (isThere) return startTimeOf(pid) === startTime;
    child = parent;
  }
  return false;
}

/** undefined if the process has ended. */
const parentOf = (pid: number): number | undefined => statOf(pid)?.parent;

/** Whether some process has this pid, a zombie too. Costs a tenth of `isAlive`. */
export function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * A process's pid in each PID namespace that it is in, beginning with this process's namespace; empty if it has ended.
 */
export function pidsOf(pid: number): readonly number[] {
  const line = /^NSpid:\s*(.*)$/m.exec(readOrNothing(`/proc/${pid}/status`) ?? "");
  return (line?.[1] ?? "").split(/\s+/).filter(Boolean).map(Number);
}

/** The pid of the process that a descriptor refers to; undefined if that process has ended and was waited for. */
export function pidOfDescriptor(fd: number): number | undefined {
  const pid = /^Pid:\s*(-?\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
  return Number(pid) > 0 ? Number(pid) : undefined;
}

/** Which network namespace a process is in; undefined if it is gone or may not be looked at. */
export function networkNamespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}

/** The mount namespace of a process; undefined if the process is gone or may not be looked at. */
export function mountNamespaceOf(pid: number | "self"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return undefined;
  }
}

/** The inode of the PID namespace that this process is in. */
export const pidNamespace = (): number => statSync("/proc/self/ns/pid").ino;

export function nameOf(pid: number): string {
  try {
    return printable(readOrNothing(`/proc/${pid}/comm`)?.trim() ?? "");
  } catch {
    return "";
  }
}

/** The variables that it was started with; none if it has ended, or belongs to another user. */
export const environmentOf = (pid: number): ReadonlyMap<string, string> =>
  new Map(
    (readOrNothing(`/proc/${pid}/environ`) ?? "")
      .split("\0")
      .filter((one) => one.includes("="))
      .map((one): [string, string] => [
        one.slice(0, one.indexOf("=")),
        one.slice(one.indexOf("=") + 1),
      ]),
  );

/** Length of a command line that is enough to recognise it, in bytes. */
const COMMAND_SHOWN = 200;

/** Its command line, with blanks between the words; undefined if it has ended or has none. */
export function commandOf(pid: number): string | undefined {
  try {
    const line = readOrNothing(`/proc/${pid}/cmdline`)?.replace(/\0+$/, "").replaceAll("\0", " ");
    if (!line) return undefined;
    return printable(line.length > COMMAND_SHOWN ? `${line.slice(0, COMMAND_SHOWN)}…` : line);
  } catch {
    return undefined;
  }
}

/**
 * Names come from processes and go to terminals and logs. So line breaks, escape sequences and characters that change
 * the direction of writing are replaced.
 */
export const printable = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

/** Paths of a process's open files whose target begins with `prefix`, such as "/memfd:". */
export function openFilesOf(pid: number, prefix: string): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return entriesOf(folder)
    .map((entry) => `${folder}/${entry}`)
    .filter((path) => {
      try {
        return readlinkSync(path).startsWith(prefix);
      } catch {
        return false; // it was closed meanwhile
      }
    });
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // it has ended, or belongs to another user
  }
}

/** Errors that mean: this process or the machine has no descriptors or memory left. */
const ownTroubles = new Set<unknown>(["EMFILE", "ENFILE", "ENOMEM"]);

/**
 * undefined if there is no such file, or this process may not read it. Throws if this process cannot open files now.
 */
export function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && ownTroubles.has(error.code)) throw error;
    return undefined;
  }
}
