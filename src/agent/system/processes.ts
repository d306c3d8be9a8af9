// A process is identified by its pid and its start time, because the pid alone may be reused.
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/**
 * In clock ticks since boot (field 22 of /proc/PID/stat); undefined for an ended process or a
 * zombie. Throws if this process cannot open files now, which says nothing about the other one.
 */
export const startTimeOf = (pid: number): number | undefined => statOf(pid)?.startTime;

function statOf(pid: number): { readonly parent: number; readonly startTime: number } | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may contain spaces and parentheses.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  return { parent: Number(rest[0]), startTime: Number(rest[18]) };
}

export function isStopped(pid: number): boolean {
  const stat = readOrNothing(`/proc/${pid}/stat`) ?? "";
  return "Tt".includes(stat[stat.lastIndexOf(")") + 2] ?? "-");
}

export function isAlive(pid: number, startTime: number): boolean {
  try {
    return startTimeOf(pid) === startTime;
  } catch {
    return true;
  }
}

export interface Process {
  readonly pid: number;
  readonly startTime: number;
}

const MAX_GENERATIONS = 64;

/**
 * Follows living parents only: a process whose parent has ended is another one's child. Throws if
 * this process cannot open files now.
 */
export function isDescendant({ pid, startTime }: Process, ancestor: Process): boolean {
  let child = pid;
  for (let i = 0; i < MAX_GENERATIONS; i++) {
    const parent = parentOf(child);
    if (parent === undefined || parent === 0) return false;
    const isThere = parent === ancestor.pid && startTimeOf(parent) === ancestor.startTime;
    // The parent is read again: while a process has its parent, that pid is not reused.
    if (parentOf(child) !== parent) return false;
    if (isThere) return startTimeOf(pid) === startTime;
    child = parent;
  }
  return false;
}

const parentOf = (pid: number): number | undefined => statOf(pid)?.parent;

/** The process, its parent and so on, as long as they live. */
export function* lineageOf(pid: number): Generator<number> {
  let next: number | undefined = pid;
  for (let i = 0; i < MAX_GENERATIONS && next !== undefined && next > 1; i++) {
    yield next;
    next = parentOf(next);
  }
}

export function hasPid(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

export function pidsOf(pid: number): readonly number[] {
  const line = /^NSpid:\s*(.*)$/m.exec(readOrNothing(`/proc/${pid}/status`) ?? "");
  return (line?.[1] ?? "").split(/\s+/).filter(Boolean).map(Number);
}

export function pidOfDescriptor(fd: number): number | undefined {
  const pid = /^Pid:\s*(-?\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1];
  return Number(pid) > 0 ? Number(pid) : undefined;
}

export function networkNamespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}

export function mountNamespaceOf(pid: number | "self"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/mnt`);
  } catch {
    return undefined;
  }
}

export const pidNamespace = (): number => statSync("/proc/self/ns/pid").ino; // the result is an inode

export function nameOf(pid: number): string {
  try {
    return printable(readOrNothing(`/proc/${pid}/comm`)?.trim() ?? "");
  } catch {
    return "";
  }
}

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

const COMMAND_SHOWN = 200; // bytes

export function commandOf(pid: number): string | undefined {
  try {
    const line = readOrNothing(`/proc/${pid}/cmdline`)?.replace(/\0+$/, "").replaceAll("\0", " ");
    if (!line) return undefined;
    return printable(line.length > COMMAND_SHOWN ? `${line.slice(0, COMMAND_SHOWN)}…` : line);
  } catch {
    return undefined;
  }
}

/** Names come from processes and go to terminals and logs, which they must not steer. */
export const printable = (name: string): string =>
  name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "?");

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

/** This process or the machine has no descriptors or memory left. */
const ownTroubles = new Set<unknown>(["EMFILE", "ENFILE", "ENOMEM"]);

/** Throws if this process can't open any file now. */
export function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && ownTroubles.has(error.code)) throw error;
    return undefined;
  }
}
