// Extracts one kernel, with the functions and shared memory that it needs, into a module that is loaded beside the
// original.
import { callGraph, isNamedIn } from "../analysis/call-graph.ts";
import { moduleScope } from "../syntax/scopes.ts";
import { type Func, type Item, type Module, made, type Statement } from "../syntax/syntax.ts";

export interface NotExtracted {
  /** A sentence without its full stop, the culprit by name. */
  readonly reason: string;
}

/** Directives to keep; all others at module level are debugging information. */
const HEAD = new Set([".version", ".target", ".address_size"]);

/**
 * The module with `kernel` as its only kernel, without debugging information. A kernel that uses global or constant
 * variables of the module can't be extracted: the new module would have its own copies, with other contents.
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

/** Without `.loc`, which refers to `.file` directives that are not kept. */
const withoutPlaces = (body: readonly Statement[]): readonly Statement[] =>
  body
    .filter((one) => one.kind !== "verbatim" || one.word !== ".loc")
    .map((one) =>
      one.kind === "block" ? { ...one, ...made, body: withoutPlaces(one.body) } : one,
    );
