// The import graph: the closure over imports, and over strings that name files or folders of the tree.
import { dirname, join } from "node:path";
import { type Module, parseModule } from "./modules.ts";
import type { Tree } from "./tree.ts";

interface Program {
  /** The file that people start. */
  readonly bin: string;
  /** Its first module; its bundle holds what is reachable from here. */
  readonly main: string;
  /** The table of commands, whose dynamic imports are followed for the commands that a suite uses only. */
  readonly table: string;
}

export const cotenant: Program = {
  bin: "bin/cotenant",
  main: "src/cli/main.ts",
  table: "src/cli/commands.ts",
};
export const laboratory: Program = {
  bin: "bin/cotenant-lab",
  main: "lab/cli/main.ts",
  table: "lab/cli/commands.ts",
};
const tables = [cotenant.table, laboratory.table];

const isCode = (path: string): boolean => /\.m?ts$|\.mjs$/.test(path);
/** Files that run or describe tests, in contrast to the product. */
const isOfTests = (path: string): boolean =>
  /^(test|bench|scripts)\//.test(path) || path.endsWith(".test.ts");

interface Closure {
  readonly files: ReadonlySet<string>;
  /** Words of all strings of files that run tests. */
  readonly words: ReadonlySet<string>;
}

export interface Graph {
  /** Files that tests in `roots` import, name or start, and `roots` themselves. */
  ofTests(roots: readonly string[]): Closure;
  /** Files that a program loads when one of these commands is called. */
  ofCommands(program: Program, commands: ReadonlySet<string>): ReadonlySet<string>;
  /** The names of all commands of a program. */
  commands(program: Program): readonly string[];
}

/**
 * The graph of a tree.
 *
 * @throws Error where an import of a file leads to no file of the tree
 */
export function graphOf(tree: Tree): Graph {
  const aliases: Readonly<Record<string, string>> = JSON.parse(
    tree.read("package.json").toString(),
  ).imports;
  const modules = new Map<string, Module>();
  const moduleAt = (path: string): Module => {
    const known = modules.get(path);
    if (known) return known;
    const parsed = parseModule(path, tree.read(path).toString());
    modules.set(path, parsed);
    return parsed;
  };

  /** The file of a specifier; undefined: a package, or a file that the build makes. */
  function resolve(from: string, specifier: string): string | undefined {
    if (specifier.startsWith("#"))
      return aliases[specifier]?.replace(/^\.\//, "") ?? missing(from, specifier);
    if (!specifier.startsWith(".")) return undefined;
    const path = join(dirname(from), specifier.replace(/\?.*$/, ""));
    if (tree.has(path)) return path;
    return /^(dist|build)\//.test(path) ? undefined : missing(from, specifier);
  }

  /** Files that a word in a file names: by a path from the root, or from the file's folder. */
  function named(from: string, word: string): readonly string[] {
    // A word without a "/" or an ending, such as "test", names a folder by chance only; dots alone lead to what is around.
    if (!/\w[./]|[./]\w/.test(word) || word.startsWith("/")) return [];
    return [join(word), join(dirname(from), word)].flatMap((path) => {
      if (tree.has(path)) return [path];
      const folder = path.replace(/\/$/, "");
      return folder.includes("/") ? tree.under(folder) : [];
    });
  }

  function closure(roots: readonly string[], edges: (path: string) => readonly string[]) {
    const found = new Set<string>(roots);
    // A Set's iteration visits what is added during it.
    for (const path of found) if (isCode(path)) for (const next of edges(path)) found.add(next);
    return found;
  }

  const imported = (path: string, specifiers: readonly string[]): readonly string[] =>
    specifiers.flatMap((specifier) => resolve(path, specifier) ?? []);
  const namedIn = (path: string): readonly string[] => {
    const files = [...moduleAt(path).words].flatMap((word) => named(path, word));
    // The product reads data that it ships; documents and modules stand in its messages only.
    return isOfTests(path) ? files : files.filter((file) => !/\.(md|ts)$|^scripts\//.test(file));
  };

  return {
    ofTests(roots) {
      const files = closure(roots, (path) => [
        ...imported(path, [...moduleAt(path).imports, ...moduleAt(path).dynamic]),
        ...namedIn(path),
      ]);
      const words = new Set<string>();
      for (const path of files)
        if (isCode(path) && isOfTests(path))
          for (const word of moduleAt(path).words) words.add(word);
      return { files, words };
    },
    ofCommands(program, commands) {
      return closure([program.main], (path) => [
        ...imported(path, moduleAt(path).imports),
        ...imported(path, tables.includes(path) ? [] : moduleAt(path).dynamic),
        ...imported(path, path === program.table ? ofTable(path, commands) : []),
        ...namedIn(path),
      ]);
    },
    commands: ({ table }) => [...commandsIn(table).keys()],
  };

  function ofTable(path: string, commands: ReadonlySet<string>): readonly string[] {
    return [...commandsIn(path)].flatMap(([name, specifier]) =>
      commands.has(name) ? [specifier] : [],
    );
  }

  /** From a command's name to the specifier of its module. */
  function commandsIn(path: string): ReadonlyMap<string, string> {
    const source = tree.read(path).toString();
    const entries = source.matchAll(
      /^ {2}"?([\w-]+)"?: async \(\) =>\s+\(await import\("([^"]+)"\)/gm,
    );
    const found = new Map([...entries].map(([, name = "", specifier = ""]) => [name, specifier]));
    const specifiers = new Set(moduleAt(path).dynamic);
    if (found.size !== specifiers.size)
      throw new Error(
        `${path} imports ${specifiers.size} commands, of which scripts/ci/graph.ts reads ${found.size}: write each like the others.`,
      );
    return found;
  }
}

function missing(from: string, specifier: string): never {
  throw new Error(`${from} imports "${specifier}", which is no file of the tree.`);
}
