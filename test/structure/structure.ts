// Two rules about files that the linter has no rule for. A room is a folder of src. (Biome checks that no files import
// each other in a circle, and which rooms a room may import.)
import { dirname, join } from "node:path";

/** A file or folder that breaks a rule, and how. */
export interface Offence {
  /** What stands in the list of exceptions. */
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

const imports = /(?:\bfrom|\bimport)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g;

/** Imports that go past a room's door, its index.ts. Other rooms are imported as "#room". */
export function importsPastDoors(
  paths: readonly string[],
  read: (path: string) => string,
): readonly Offence[] {
  const found: Offence[] = [];
  for (const path of paths)
    for (const [, relative = ""] of read(path).matchAll(imports)) {
      const imported = join(dirname(path), relative);
      const room = roomOf(imported);
      if (room === undefined || room === roomOf(path) || imported === `${room}/index.ts`) continue;
      const door = `#${room.slice("src/".length)}`;
      found.push({ room, text: `${path} imports ${imported} past the door ${door}` });
    }
  return found;
}

/** "src/ptx" of "src/ptx/syntax/parse.ts"; undefined outside of src. */
const roomOf = (path: string): string | undefined => /^src\/[^/]+(?=\/)/.exec(path)?.[0];
