import {
  type Cursor,
  code,
  dotWord,
  expect,
  fail,
  isDigit,
  name,
  number,
  peek,
  skip,
  skipBalanced,
} from "./cursor.ts";
import type { Declarator, Linkage, Variable } from "./syntax.ts";

export const spaces: ReadonlySet<string> = new Set([
  ".reg",
  ".param",
  ".global",
  ".shared",
  ".local",
  ".const",
  ".tex",
  ".sreg",
]);

const vectors = new Map<string, 2 | 4 | 8>([
  [".v2", 2],
  [".v4", 4],
  [".v8", 8],
]);

const none: readonly string[] = [];

/** The cursor stands behind the space. `single`: a header's parameter, without a semicolon. */
export function variable(
  cursor: Cursor,
  at: number,
  linkage: Linkage,
  space: string,
  single: boolean,
): Variable {
  let align: number | undefined;
  let vector: Variable["vector"] = 1;
  let type = "";
  let attributes = "";
  let qualifiers = "";
  let c = skip(cursor);
  while (c === code.dot) {
    const word = dotWord(cursor);
    if (type !== "") qualifiers += (qualifiers === "" ? "" : " ") + qualifier(cursor, word);
    else if (word === ".align") align = bytes(cursor);
    else if (word === ".attribute") attributes = attribute(cursor);
    else if (vectors.has(word)) vector = vectors.get(word) ?? 1;
    else type = word.slice(1);
    c = skip(cursor);
  }
  if (type === "") fail(cursor, "the type is missing of what is declared");
  const names: Declarator[] = [];
  for (;;) {
    skip(cursor);
    names.push(declarator(cursor));
    if (single) break;
    const c = skip(cursor);
    if (c !== code.comma) {
      expect(cursor, code.semicolon);
      break;
    }
    cursor.at += 1;
  }
  return {
    kind: "variable",
    at,
    end: cursor.at,
    linkage,
    space: space.slice(1),
    attributes,
    align,
    vector,
    type,
    qualifiers,
    names,
  };
}

export function attribute(cursor: Cursor): string {
  skip(cursor);
  if (peek(cursor) !== code.open) fail(cursor, '"(" is missing');
  const from = cursor.at;
  cursor.at += 1;
  skipBalanced(cursor, (c) => c === code.close);
  cursor.at += 1;
  return `.attribute${cursor.text.slice(from, cursor.at)}`;
}

function qualifier(cursor: Cursor, word: string): string {
  return isDigit(skip(cursor)) ? `${word} ${number(cursor)}` : word;
}

function bytes(cursor: Cursor): number {
  skip(cursor);
  const from = cursor.at;
  const value = Number(number(cursor));
  if (!Number.isInteger(value)) fail(cursor, "not a number of bytes", from);
  return value;
}

/** More registers than ptxas accepts are an error, and tables of them would use up the memory. */
const MAX_REGISTERS = 10_000_000;

function declarator(cursor: Cursor): Declarator {
  const text = name(cursor);
  let count: number | undefined;
  let dims: readonly string[] = none;
  let init: string | undefined;
  let c = skip(cursor);
  if (c === code.less) {
    cursor.at += 1;
    const from = cursor.at;
    count = bytes(cursor);
    if (count < 0 || count > MAX_REGISTERS) fail(cursor, "not a number of registers", from);
    expect(cursor, code.greater);
    c = skip(cursor);
  }
  if (c === code.openSquare) {
    const found: string[] = [];
    while (c === code.openSquare) {
      cursor.at += 1;
      skip(cursor);
      const from = cursor.at;
      skipBalanced(cursor, (c) => c === code.closeSquare || c === code.semicolon);
      found.push(cursor.text.slice(from, cursor.at).trim());
      expect(cursor, code.closeSquare);
      c = skip(cursor);
    }
    dims = found;
  }
  if (c === code.equals) {
    cursor.at += 1;
    skip(cursor);
    const from = cursor.at;
    skipBalanced(cursor, (c) => c === code.comma || c === code.semicolon);
    init = cursor.text.slice(from, cursor.at).trimEnd();
  }
  return { name: text, count, dims, init };
}
