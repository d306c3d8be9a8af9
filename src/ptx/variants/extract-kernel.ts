// One kernel of a module with what it needs of the rest: a module of its own, to be loaded beside the original.
import { callGraph, isNamedIn } from "../analysis/call-graph.ts";
import { moduleScope } from "../syntax/scopes.ts";
import { type Func, type Item, type Module, made, type Statement } from "../syntax/syntax.ts";

export interface NotExtracted {
  /** A sentence without its full stop, the culprit by name. */
  readonly reason: string;
}

/** Of a file's head; the rest of its directives is about what debuggers show. */
const HEAD = new Set([".version", ".target", ".address_size"]);

/**
 * The module with `kernel` as its only kernel, without debugging information. A kernel that uses variables of the
 * module outside of shared memory can't stand alone: another module would have its own of them, with other contents.
 */
export function extractKernel(module: Module, kernel: string): Module | NotExtracted {
  const scope = moduleScope(module);
  const entry = scope.functions.get(kernel);
  if (!entry?.entry || entry.body === undefined)
    return { reason: `the module has no kernel ${kernel}` };
  const { functions, outside } = callGraph(entry, module);
  for (const [name, { variable }] of scope.variables)
    if (variable.space !== "shared" && isNamedIn(functions, name))
      return { reason: `it uses ${name}, which is the module's own` };
  const kept = new Set([
    ...functions.map(({ name }) => name),
    ...outside.map(({ callee }) => callee),
  ]);
  return {
    ...module,
    items: module.items.filter((item) => isNeeded(item, kept, functions)).map(plain),
  };
}

function isNeeded(item: Item, called: ReadonlySet<string>, functions: readonly Func[]): boolean {
  if (item.kind === "function") return called.has(item.name);
  if (item.kind === "variable")
    return item.space === "shared" && item.names.some(({ name }) => isNamedIn(functions, name));
  return HEAD.has(item.word);
}

const plain = (item: Item): Item =>
  item.kind === "function" && item.body !== undefined
    ? { ...item, ...made, body: withoutPlaces(item.body) }
    : item;

/** Places in a source file (`.loc`) name what is not kept. */
const withoutPlaces = (body: readonly Statement[]): readonly Statement[] =>
  body
    .filter((one) => one.kind !== "verbatim" || one.word !== ".loc")
    .map((one) =>
      one.kind === "block" ? { ...one, ...made, body: withoutPlaces(one.body) } : one,
    );
