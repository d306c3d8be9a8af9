// Notes of `cotenant run` about programs without a CUDA context. The interposer removes a note when
// the program or its child has one (native/interposer/process/launch_note.cpp).
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
    return JSON.parse(readFileSync(path, "utf8")) as Note;
  } catch {
    return undefined;
  }
}
