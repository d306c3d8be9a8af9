// Notes of `cotenant run` about the programs that it has become. The interposer removes a program's note when the program,
// or a child of it, has a CUDA context (native/interposer/process/launch_note.cpp). What has a note uses no CUDA yet.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ClientClass } from "#protocol";
import { isAlive, pidNamespace, printable, startTimeOf } from "../system/index.ts";
import { pathsIn } from "./state.ts";

export interface Launch {
  readonly pid: number;
  readonly name: string;
  readonly class: ClientClass;
}

interface Note extends Launch {
  readonly startTime: number;
  readonly pidNamespace: number;
}

/** Notes a process as launched. Returns the path; undefined where none can be written, which stops no program. */
export function noteLaunch(
  directory: string,
  { pid, name, class: kind }: Launch,
): string | undefined {
  const folder = pathsIn(directory).launched;
  const startTime = startTimeOf(pid) ?? 0;
  const note: Note = { pid, name, class: kind, startTime, pidNamespace: pidNamespace() };
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(`${folder}/${pid}`, JSON.stringify(note), { mode: 0o600 });
    return `${folder}/${pid}`;
  } catch {
    return undefined;
  }
}

/** The programs that run and use no CUDA yet. Notes of those that have ended are removed. */
export function launchesIn(directory: string): readonly Launch[] {
  const folder = pathsIn(directory).launched;
  return entriesOf(folder).flatMap((entry) => {
    const path = `${folder}/${entry}`;
    const note = readNote(path);
    if (note?.pidNamespace !== pidNamespace()) return [];
    const { pid, name, class: kind, startTime } = note;
    if (isAlive(pid, startTime)) return [{ pid, name: printable(name), class: kind }];
    rmSync(path, { force: true });
    return [];
  });
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // nothing was launched yet
  }
}

function readNote(path: string): Note | undefined {
  try {
    // Written by noteLaunch into a folder of this user alone; torn where the disk was full.
    return JSON.parse(readFileSync(path, "utf8")) as Note;
  } catch {
    return undefined;
  }
}
