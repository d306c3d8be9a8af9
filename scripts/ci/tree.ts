// The files that suites are chosen by: those of the working tree that git tracks or would track.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { createFilter } from "vite";

export interface Tree {
  /** Paths relative to the root, with "/", sorted. */
  readonly files: readonly string[];
  has(path: string): boolean;
  /** Files below a folder, whose path has no "/" at its end; empty: it is no folder. */
  under(folder: string): readonly string[];
  /** Files that match one of the globs and none of those that begin with "!". */
  matching(globs: readonly string[]): readonly string[];
  /** The content of one of `files`. */
  read(path: string): Buffer;
}

/** A tree of these files, whose content `read` returns. */
export function treeOf(paths: readonly string[], read: (path: string) => Buffer): Tree {
  const files = [...paths].sort();
  const known = new Set(files);
  const folders = new Map<string, string[]>();
  for (const file of files)
    for (let at = file.indexOf("/"); at >= 0; at = file.indexOf("/", at + 1)) {
      const folder = file.slice(0, at);
      folders.set(folder, [...(folders.get(folder) ?? []), file]);
    }
  return {
    files,
    has: (path) => known.has(path),
    under: (folder) => folders.get(folder) ?? [],
    matching(globs) {
      const include = globs.filter((glob) => !glob.startsWith("!"));
      if (include.length === 0) return [];
      const exclude = globs.filter((glob) => glob.startsWith("!")).map((glob) => glob.slice(1));
      return files.filter(createFilter(include, exclude, { resolve: false }));
    },
    read,
  };
}

/**
 * The working tree of the clone in `root`, with files that are not yet committed.
 *
 * @throws Error if `root` is no git working tree
 */
export function workingTree(root: string): Tree {
  const listed = execFileSync(
    "git",
    ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    { cwd: root, encoding: "utf8", maxBuffer: 1 << 26 },
  );
  // A deleted file is listed until its deletion is committed.
  const files = listed.split("\0").filter((path) => path !== "" && existsSync(join(root, path)));
  return treeOf([...new Set(files)], (path) => {
    const file = join(root, path);
    // A script that loses its mode fails, so the mode is part of the content.
    const executable = (statSync(file).mode & 0o100) !== 0;
    const text = readFileSync(file);
    return executable ? Buffer.concat([text, Buffer.from("\nexecutable")]) : text;
  });
}
