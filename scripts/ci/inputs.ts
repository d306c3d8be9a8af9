// The inputs of each suite, file by file, and one hash of them.
import { createHash } from "node:crypto";
import { cotenant, type Graph, laboratory } from "./graph.ts";
import { bundleInputs, commonInputs, loadedByModule, nativeInputs, type Suite } from "./suites.ts";
import type { Tree } from "./tree.ts";

export interface Inputs extends Omit<Dependencies, "paths"> {
  /** From each input file to a hash of its content. */
  readonly files: ReadonlyMap<string, string>;
  /** A hash of `files`, of the suite's definition and of the machine's tools. */
  readonly hash: string;
}

/** Commands of `cotenant` that it, or `cotenant-lab`, starts for others: calling one means calling these. */
const startedBy: Readonly<Record<string, readonly string[]>> = {
  up: ["make-variants", "make-context"],
  demo: ["up", "run", "load", "down", "status"],
  try: ["up", "run", "load", "down", "status"],
  bench: ["up", "run", "load", "down", "status"],
};

/** The files that a suite depends on. */
export interface Dependencies {
  readonly suite: Suite;
  /** Its test files; empty for a suite without tests. */
  readonly tests: readonly string[];
  /** Sorted. */
  readonly paths: readonly string[];
}

/** Finds the files that each suite depends on. */
export const dependenciesOf = (
  suites: readonly Suite[],
  tree: Tree,
  graph: Graph,
): readonly Dependencies[] =>
  suites.map((suite) => {
    const tests = tree.matching(suite.tests);
    return { suite, tests, paths: [...inputPaths(suite, tests, tree, graph)].sort() };
  });

/** Hashes a file's content; each file is read once. */
export function hashesOf(tree: Tree): (path: string) => string {
  const hashes = new Map<string, string>();
  return (path) => {
    const known = hashes.get(path);
    if (known) return known;
    const made = sha256(tree.read(path)).slice(0, 16);
    hashes.set(path, made);
    return made;
  };
}

/**
 * Hashes what suites depend on.
 *
 * @param hashOf returns the hash of a file's content
 * @param machine describes the tools that suites use: another text is another hash
 */
export const inputsOf = (
  dependencies: readonly Dependencies[],
  hashOf: (path: string) => string,
  machine: string,
): readonly Inputs[] =>
  dependencies.map(({ suite, tests, paths }) => {
    const files = new Map(paths.map((path) => [path, hashOf(path)]));
    const hash = sha256(JSON.stringify([suite, machine, [...files]])).slice(0, 32);
    return { suite, tests, files, hash };
  });

function inputPaths(
  suite: Suite,
  tests: readonly string[],
  tree: Tree,
  graph: Graph,
): ReadonlySet<string> {
  const declared = [...tree.matching(commonInputs), ...tree.matching(suite.inputs)];
  const helpers = declared.filter((path) => path.startsWith("test/") && path.endsWith(".ts"));
  const roots = [...tests, ...helpers, ...(suite.config ? [suite.config] : [])];
  const { files, words } = graph.ofTests(roots);
  const found = new Set([...declared, ...files]);
  const add = (paths: Iterable<string>) => {
    for (const path of paths) found.add(path);
  };
  // Scripts and programs of Python start commands, too.
  const scripts = declared.filter((path) =>
    /^(test|python|workloads)\/.*\.(py|sh|yaml)$/.test(path),
  );
  const text = scripts.flatMap((path) =>
    tree
      .read(path)
      .toString()
      .split(/[^\w-]+/),
  );
  const named = new Set([...words, ...text]);
  const run = [cotenant, laboratory].filter(
    ({ bin }) => suite.allCommands || found.has(bin) || words.has(bin),
  );
  for (const program of run) {
    const called = graph.commands(program).filter((name) => suite.allCommands || named.has(name));
    const started = new Set(called.flatMap((name) => [name, ...(startedBy[name] ?? [])]));
    add(graph.ofCommands(program, started));
    if (program === laboratory) add(graph.ofCommands(cotenant, started));
    add(tree.matching(bundleInputs));
  }
  if ([...words].some((word) => word.startsWith("build/native"))) add(tree.matching(nativeInputs));
  for (const [module, loaded] of Object.entries(loadedByModule))
    if (found.has(module)) add(tree.matching(loaded));
  return found;
}

const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");
