// Statements that a pass adds, written as PTX.
import { body } from "../body.ts";
import { made, type Statement, type Variable } from "../syntax.ts";
import type { AppendedParam } from "./appended.ts";

/** The statements in `text`. What is between them may be laid out freely. */
export function statements(text: string): readonly Statement[] {
  return body({ text: `${text}\n}`, at: 0 }).map(asMade);
}

/** Its span is of the template's text, not of the module's. */
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

/** Shared memory of a module, `bytes` at a multiple of `align`. */
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
