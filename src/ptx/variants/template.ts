import { body } from "../syntax/body.ts";
import { printOnce } from "../syntax/print.ts";
import { made, type Statement, type Variable } from "../syntax/syntax.ts";
import type { AppendedParam } from "./appended.ts";

/** Most pieces are the same for all kernels; the limit is for those with names of a kernel. */
const TEXTS_KEPT = 1000;
const kept = new Map<string, readonly Statement[]>();

export function statements(...pieces: readonly string[]): readonly Statement[] {
  const all: Statement[] = [];
  for (const piece of pieces) if (piece !== "") all.push(...statementsOf(piece));
  return all;
}

function statementsOf(text: string): readonly Statement[] {
  const known = kept.get(text);
  if (known !== undefined) return known;
  const found = body({ text: `${text}\n}`, at: 0 }).map(asMade);
  found.forEach(printOnce);
  if (kept.size >= TEXTS_KEPT) kept.clear();
  kept.set(text, found);
  return found;
}

/** Its span is in the template's text, not in the module's source. */
function asMade(statement: Statement): Statement {
  if (statement.kind === "block")
    return { ...statement, ...made, body: statement.body.map(asMade) };
  return { ...statement, ...made };
}

export const parameter = ({ name, type }: AppendedParam): Variable => ({
  kind: "variable",
  ...made,
  linkage: "",
  space: "param",
  attributes: "",
  align: undefined,
  vector: 1,
  type,
  qualifiers: "",
  names: [{ name, count: undefined, dims: [], init: undefined }],
});

export const sharedWords = (name: string, bytes: number, align: number): Variable => ({
  kind: "variable",
  ...made,
  linkage: "",
  space: "shared",
  attributes: "",
  align,
  vector: 1,
  type: "b8",
  qualifiers: "",
  names: [{ name, count: undefined, dims: [`${bytes}`], init: undefined }],
});

export interface SharedWords {
  readonly name: string;
  readonly bytes: number;
  readonly align: number;
}

/** undefined for a variable that `sharedWords` did not make, be it printed and parsed since. */
export function sharedWordsIn(variable: Variable): SharedWords | undefined {
  const { space, type, linkage, vector, align, names } = variable;
  const [only, second] = names;
  if (space !== "shared" || type !== "b8" || linkage !== "" || vector !== 1) return undefined;
  if (only === undefined || second !== undefined || align === undefined) return undefined;
  const [dim = "", further] = only.dims;
  if (further !== undefined || !/^\d+$/.test(dim)) return undefined;
  return { name: only.name, bytes: Number(dim), align };
}
