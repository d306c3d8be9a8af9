// Rules about files that the linter has no rule for. A room is a folder of src or of lab. (Biome checks that no files import
// each other in a circle; here folders are checked.)
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { writesForBoth } from "./exceptions.ts";
import { parts, rooms } from "./rooms.ts";

/** A file or folder that breaks a rule, and how. */
export interface Offence {
  /** The room in the list of exceptions. */
  readonly room: string;
  readonly text: string;
}

/** The most files in a folder. */
const MAX_FILES = 25;

/** Folders with more files than can be overlooked; subfolders are not counted. */
export function crowdedFolders(paths: readonly string[]): readonly Offence[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([room, count]) => ({
      room,
      text: `${room} has ${count} files, ${MAX_FILES} are allowed`,
    }));
}

const imports = /(?:\bfrom|\bimport)\s*\(?\s*"((?:\.{1,2}\/|#)[^"]+)"/g;

/** Imports that go past a room's door, its index.ts. Other rooms are imported as "#room". */
export function importsPastDoors(
  paths: readonly string[],
  read: (path: string) => string,
): readonly Offence[] {
  const found: Offence[] = [];
  for (const path of paths)
    for (const [, name = ""] of read(path).matchAll(imports)) {
      if (name.startsWith("#")) continue;
      const imported = join(dirname(path), name);
      const room = roomOf(imported);
      if (room === undefined || room === roomOf(path) || imported === `${room}/index.ts`) continue;
      found.push({ room, text: `${path} imports ${imported} past the door ${doorOf(room)}` });
    }
  return found;
}

/** Imports of a room, or of a part of the same room, that `rooms.ts` does not allow. Tests may import any room. */
export function importsAgainstTheOrder(
  paths: readonly string[],
  read: (path: string) => string,
): readonly string[] {
  const found: string[] = [];
  for (const path of paths) {
    if (path.endsWith(".test.ts")) continue;
    for (const [, name = ""] of read(path).matchAll(imports)) {
      const imported = importedBy(path, name);
      const wrong = name.startsWith("#")
        ? isForbidden(rooms, path, imported)
        : isForbidden(parts, path, imported);
      if (wrong) found.push(`${path} imports ${name}`);
    }
  }
  return found;
}

/** Files of the product, its tests included, that import the laboratory: it must run, and be understood, without it. */
export function importsOfTheLaboratory(
  paths: readonly string[],
  read: (path: string) => string,
): readonly string[] {
  const found: string[] = [];
  for (const path of paths) {
    if (!/^(src|native|scripts)\//.test(path) || writesForBoth.includes(path)) continue;
    for (const [, name = ""] of read(path).matchAll(imports))
      if (importedBy(path, name).startsWith("lab/")) found.push(`${path} imports ${name}`);
  }
  return found;
}

function isForbidden(
  order: Readonly<Record<string, readonly string[]>>,
  path: string,
  imported: string,
): boolean {
  const holds = (folder: string, file: string) => file.startsWith(`${folder}/`);
  const from = Object.keys(order).find((folder) => holds(folder, path));
  if (from === undefined || holds(from, imported) || roomOf(imported) === undefined) return false;
  // Another room is a matter of `rooms`, where the room as a whole is looked up.
  if (order === parts && roomOf(path) !== roomOf(imported)) return false;
  return !order[from]?.some((folder) => holds(folder, imported));
}

/** From a door's name to its file, as Node finds it. */
const doors: Readonly<Record<string, string>> = JSON.parse(
  readFileSync("package.json", "utf8"),
).imports;

/** The file that an import leads to; that of a door is not asked whether it is there. */
const importedBy = (path: string, name: string): string =>
  name.startsWith("#") ? join(doors[name] ?? "") : join(dirname(path), name);

/** "src/ptx" of "src/ptx/syntax/parse.ts"; undefined outside of src and lab. */
const roomOf = (path: string): string | undefined => /^(src|lab)\/[^/]+(?=\/)/.exec(path)?.[0];

const doorOf = (room: string): string =>
  Object.keys(doors).find((door) => join(doors[door] ?? "") === `${room}/index.ts`) ?? room;

/** Folders that import themselves through others, as sentences. A folder imports what its files do, without tests. */
export function circlesOfFolders(
  paths: readonly string[],
  read: (path: string) => string,
): readonly string[] {
  const imported = new Map<string, Set<string>>();
  for (const path of paths) {
    if (path.endsWith(".test.ts")) continue;
    const from = dirname(path);
    for (const [, name = ""] of read(path).matchAll(imports)) {
      const to = dirname(importedBy(path, name));
      if (to !== from) imported.set(from, (imported.get(from) ?? new Set()).add(to));
    }
  }
  /** Folders that `start` imports, directly or through others. */
  const reached = (start: string): ReadonlySet<string> => {
    const found = new Set<string>();
    const left = [start];
    for (let folder = left.pop(); folder !== undefined; folder = left.pop())
      for (const next of imported.get(folder) ?? [])
        if (!found.has(next)) {
          found.add(next);
          left.push(next);
        }
    return found;
  };
  return [...imported.keys()]
    .filter((folder) => reached(folder).has(folder))
    .map((folder) => `${folder} imports a folder that imports ${folder}`);
}
