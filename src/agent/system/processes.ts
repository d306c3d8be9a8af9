// What /proc says about other processes. A process is named by its pid and its start time together:
// the pid alone may have been given to somebody else since.
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/**
 * Field 22 of /proc/PID/stat, in clock ticks since boot; undefined when it is gone or a zombie. Throws when this process
 * can't open files now, which says nothing about that one.
 */
export function startTimeOf(pid: number): number | undefined {
  const stat = readOrNothing(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses may hold spaces and parentheses itself: count from the last one.
  const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === "Z" || state === "X") return undefined;
  return Number(rest[18]);
}

/** Whether a signal or a debugger has stopped it. */
export function isStopped(pid: number): boolean {
  const stat = readOrNothing(`/proc/${pid}/stat`) ?? "";
  return "Tt".includes(stat[stat.lastIndexOf(")") + 2] ?? "-");
}

/** In doubt it is. */
export function isAlive(pid: number, startTime: number): boolean {
  try {
    return startTimeOf(pid) === startTime;
  } catch {
    return true;
  }
}

/** A process's pid in each PID namespace that it is in, this process's first; none where it is gone. */
export function pidsOf(pid: number): readonly number[] {
  const line = /^NSpid:\s*(.*)$/m.exec(readOrNothing(`/proc/${pid}/status`) ?? "");
  return (line?.[1] ?? "").split(/\s+/).filter(Boolean).map(Number);
}

/** Of a descriptor that stands for a process; undefined when that has ended and was waited for. */
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

/** The inode of the PID namespace that this process is in. */
export const pidNamespace = (): number => statSync("/proc/self/ns/pid").ino;

export function nameOf(pid: number): string {
  try {
    return printable(readOrNothing(`/proc/${pid}/comm`)?.trim() ?? "");
  } catch {
    return "";
  }
}

/** Of a command line: enough to tell what it is. */
const COMMAND_SHOWN = 200;

/** Its command line, with blanks between the words; undefined where it is gone or has none. */
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
 * Names come from processes, and go to terminals and logs: line breaks, escape sequences and what changes the direction of
 * writing do not.
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
        return false; // closed since
      }
    });
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // gone, or not ours
  }
}

/** This process or the machine has no descriptors or memory left. */
const ownTroubles = new Set<unknown>(["EMFILE", "ENFILE", "ENOMEM"]);

/** undefined where there is no such file, or none of ours. Throws when this process can't open files now. */
export function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && ownTroubles.has(error.code)) throw error;
    return undefined;
  }
}
