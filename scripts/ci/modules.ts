// Parses one TypeScript file into the modules that it imports and the strings in it, some of which name files.
import { parseSync } from "vite";

export interface Module {
  /** Specifiers of static imports and re-exports, types included. */
  readonly imports: readonly string[];
  /** Specifiers of `import()` that are plain strings. */
  readonly dynamic: readonly string[];
  /** Strings and the constant parts of templates, divided at white space. */
  readonly words: ReadonlySet<string>;
}

/**
 * Parses one file.
 *
 * @throws Error if it is no TypeScript; `path` is named
 */
export function parseModule(path: string, source: string): Module {
  const { program, errors } = parseSync(path, source);
  const [error] = errors;
  if (error) throw new Error(`${path} can't be parsed: ${error.message}`);
  const imports: string[] = [];
  const dynamic: string[] = [];
  const words = new Set<string>();
  visit(program, (node) => {
    if (node.type === "Literal" && typeof node.value === "string") add(words, node.value);
    if (node.type === "TemplateElement") add(words, (node.value as { raw: string }).raw);
    const source = (node.source as Node | null | undefined)?.value;
    if (typeof source !== "string") return;
    if (node.type === "ImportExpression") dynamic.push(source);
    else imports.push(source);
  });
  return { imports, dynamic, words };
}

type Node = { readonly type?: string; readonly [key: string]: unknown };

function visit(value: unknown, each: (node: Node) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const one of value) visit(one, each);
    return;
  }
  const node = value as Node;
  if (node.type !== undefined) each(node);
  for (const key in node) visit(node[key], each);
}

function add(words: Set<string>, text: string): void {
  for (const word of text.split(/[\s"'`<>()=,;:|]+/)) if (word !== "") words.add(word);
}
