import { callGraph, isNamedIn } from "../analysis/call-graph.ts";
import { moduleScope } from "../syntax/scopes.ts";
import {
  type Func,
  type Item,
  type Module,
  made,
  type Statement,
  type Variable,
} from "../syntax/syntax.ts";

export interface NotExtracted {
  readonly reason: string;
}

const HEAD = new Set([".version", ".target", ".address_size"]);

/**
 * A kernel that uses global or constant variables can't be extracted: the new module would have
 * copies with other contents. Texts are copied, because nobody changes them.
 */
export function extractKernel(module: Module, kernel: string): Module | NotExtracted {
  const scope = moduleScope(module);
  const entry = scope.functions.get(kernel);
  if (!entry?.entry || entry.body === undefined)
    return { reason: `the module has no kernel ${kernel}` };
  const { functions, outside } = callGraph(entry, module);
  for (const [name, { variable }] of scope.variables)
    if (variable.space !== "shared" && !isText(variable, name) && isNamedIn(functions, name))
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
    return item.names.some(
      ({ name }) => (item.space === "shared" || isText(item, name)) && isNamedIn(functions, name),
    );
  return HEAD.has(item.word);
}

/** nvcc names literals and functions' names so, Triton texts of printf and assert. */
const TEXT = /^(\$str(\$\d+)?|__unnamed_\d+|(printfFormat|assert(Message|File|Func))_\d+)$/;

/**
 * To write a literal is undefined in C++, and the host has no name for it, so a copy holds the
 * same. Other initialised variables may have been stored to since.
 */
const isText = ({ space, linkage, type, names }: Variable, name: string): boolean =>
  TEXT.test(name) &&
  linkage === "" &&
  space === "global" &&
  type === "b8" &&
  names.every(({ init }) => init !== undefined && /^\{[\s\d,]*\}$/.test(init));

const plain = (item: Item): Item =>
  item.kind === "function" && item.body !== undefined
    ? { ...item, ...made, body: withoutPlaces(item.body) }
    : item;

/** `.loc` refers to `.file` directives that are not kept. */
const withoutPlaces = (body: readonly Statement[]): readonly Statement[] =>
  body
    .filter((one) => one.kind !== "verbatim" || one.word !== ".loc")
    .map((one) =>
      one.kind === "block" ? { ...one, ...made, body: withoutPlaces(one.body) } : one,
    );
