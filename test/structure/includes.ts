// Includes of the native parts that layers.ts does not allow.
import { dirname, join } from "node:path";
import { layers, libraries, upward } from "./layers.ts";

const include = /^\s*#\s*include\s+"([^"]+)"/gm;

export function includesAgainstTheOrder(
  paths: readonly string[],
  read: (path: string) => string,
): readonly string[] {
  return paths.flatMap((path) =>
    [...read(path).matchAll(include)]
      .map(([, name = ""]) => resolved(path, name))
      .filter((included) => !isAllowed(path, included) && !isExcepted(path, included))
      .map((included) => `${path} includes ${included}`),
  );
}

/** Names begin with a library's folder; others are relative to the file, as in native/driver. */
function resolved(path: string, name: string): string {
  const fromNative = `native/${name}`;
  return libraryOf(fromNative) === undefined ? join(dirname(path), name) : fromNative;
}

const isExcepted = (path: string, included: string): boolean =>
  upward.some(({ file, includes }) => file === path && includes === included);

function isAllowed(path: string, included: string): boolean {
  const library = libraryOf(path);
  if (library === undefined) return false;
  if (libraryOf(included) !== library)
    return (libraries[library] ?? []).some(
      (allowed) => included === allowed || included.startsWith(`${allowed}/`),
    );
  const order = layers[library];
  if (order === undefined) return true;
  const to = order.indexOf(folderOf(library, included));
  return to >= 0 && to <= order.indexOf(folderOf(library, path));
}

const libraryOf = (path: string): string | undefined =>
  Object.keys(libraries).find((library) => path.startsWith(`${library}/`));

/** "calls" of "native/interposer/calls/waits.h". */
const folderOf = (library: string, path: string): string =>
  path.slice(library.length + 1).split("/")[0] ?? "";
