// Rules about files that the linter has no rule for. A room is a folder of src, or of src/offline. (Biome checks that no
// files import each other in a circle.)
import { dirname, join } from "node:path";
import { parts, rooms } from "./rooms.ts";

/** A file or folder that breaks a rule, and how. */
export interface Offence {
  /** The room in the list of exceptions. */
  readonly room: string;
  readonly text: string;
}

/** The most files in a folder. */
const MOST = 25;

/** Folders with more files than can be overlooked; subfolders are not counted. */
export function crowdedFolders(paths: readonly string[]): readonly Offence[] {
  const counts = new Map<string, number>();
  for (const path of paths) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > MOST)
    .map(([room, count]) => ({ room, text: `${room} has ${count} files, ${MOST} are allowed` }));
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
      const wrong = name.startsWith("#")
        ? isForbidden(rooms, path, `src/${folderOf(name)}/index.ts`)
        : isForbidden(parts, path, join(dirname(path), name));
      if (wrong) found.push(`${path} imports ${name}`);
    }
  }
  return found;
}

function isForbidden(
  order: Readonly<Record<string, readonly string[]>>,
  path: string,
  imported: string,
): boolean {
  const holds = (folder: string, file: string) => file.startsWith(`src/${folder}/`);
  const from = Object.keys(order).find((folder) => holds(folder, path));
  if (from === undefined || holds(from, imported) || !imported.startsWith("src/")) return false;
  // Another room is a matter of `rooms`, where the room as a whole is looked up.
  if (order === parts && roomOf(path) !== roomOf(imported)) return false;
  return !order[from]?.some((folder) => holds(folder, imported));
}

/** "src/ptx" of "src/ptx/syntax/parse.ts"; undefined outside of src. */
const roomOf = (path: string): string | undefined =>
  /^src\/(?:offline\/)?[^/]+(?=\/)/.exec(path)?.[0];

const OFFLINE = /^(cluster|soc)$/;
const folderOf = (door: string): string =>
  OFFLINE.test(door.slice(1)) ? `offline/${door.slice(1)}` : door.slice(1);
const doorOf = (room: string): string => `#${room.replace(/^src\/(offline\/)?/, "")}`;
