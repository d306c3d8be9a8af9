import { AnalysisCache } from "./analysis-cache.ts";
import { body, line, section } from "./body.ts";
import {
  type Cursor,
  code,
  dotWord,
  expect,
  fail,
  name,
  peek,
  skip,
  skipBalanced,
  skipBody,
  skipString,
} from "./cursor.ts";
import { attribute, spaces, variable } from "./declarations.ts";
import type {
  Directive,
  Func,
  Item,
  Linkage,
  Module,
  Statement,
  Variable,
  Verbatim,
} from "./syntax.ts";

/** Throws a `PtxError`. `only` skips the bodies of other kernels, which is far faster. */
export function parse(source: string, only?: string): Module {
  const cursor: Cursor = { text: source, at: 0 };
  const items: Item[] = [];
  for (;;) {
    const c = skip(cursor);
    const at = cursor.at;
    if (Number.isNaN(c)) return { source, items, analyses: new AnalysisCache() };
    if (c === code.dot) items.push(item(cursor, at, only));
    else if (c === code.at) items.push(line(cursor, at));
    else if (c === code.semicolon) cursor.at += 1;
    else fail(cursor, "no directive begins so,");
  }
}

const linkages: ReadonlySet<string> = new Set([".visible", ".extern", ".weak", ".common"]);

function item(cursor: Cursor, at: number, only: string | undefined): Item {
  let linkage: Linkage = "";
  let attributes = "";
  let word = dotWord(cursor);
  while (linkages.has(word) || word === ".attribute") {
    if (word === ".attribute") attributes = attribute(cursor);
    else linkage = word as Linkage; // one of `linkages`
    if (skip(cursor) !== code.dot) fail(cursor, "a declaration is missing");
    word = dotWord(cursor);
  }
  if (word === ".entry" || word === ".func")
    return func(cursor, at, linkage, attributes, word === ".entry", only);
  if (spaces.has(word)) return variable(cursor, at, linkage, word, false);
  if (linkage !== "") fail(cursor, "neither a function nor a variable", at);
  return other(cursor, at, word);
}

function func(
  cursor: Cursor,
  at: number,
  linkage: Linkage,
  attributes: string,
  entry: boolean,
  only: string | undefined,
): Func {
  let all = attributes;
  if (skip(cursor) === code.dot) {
    if (dotWord(cursor) !== ".attribute") fail(cursor, "a function's name is missing");
    all = attribute(cursor);
  }
  const returns = skip(cursor) === code.open ? parameters(cursor) : [];
  skip(cursor);
  const text = name(cursor);
  const params = skip(cursor) === code.open ? parameters(cursor) : [];
  const directives = functionDirectives(cursor);
  const c = skip(cursor);
  if (c !== code.openBrace && c !== code.semicolon) fail(cursor, 'a body or ";" is missing');
  cursor.at += 1;
  const bodyAt = cursor.at;
  let statements: readonly Statement[] | undefined;
  if (c === code.openBrace) {
    if (entry && only !== undefined && text !== only) skipBody(cursor);
    else statements = body(cursor);
  }
  return {
    kind: "function",
    at,
    end: cursor.at,
    entry,
    linkage,
    attributes: all,
    returns,
    name: text,
    params,
    directives,
    bodyAt,
    body: statements,
    bodyRead: statements,
    analyses: new AnalysisCache(),
  };
}

function parameters(cursor: Cursor): readonly Variable[] {
  cursor.at += 1;
  const all: Variable[] = [];
  if (skip(cursor) === code.close) {
    cursor.at += 1;
    return all;
  }
  for (;;) {
    const c = skip(cursor);
    const at = cursor.at;
    if (c !== code.dot) fail(cursor, "a parameter is missing");
    const space = dotWord(cursor);
    if (!spaces.has(space)) fail(cursor, "not a parameter's state space", at);
    all.push(variable(cursor, at, "", space, true));
    if (skip(cursor) === code.close) {
      cursor.at += 1;
      return all;
    }
    expect(cursor, code.comma);
  }
}

/** `.maxntid 128, 1, 1 .pragma "x";` may stand between a function's parameters and its body. */
function functionDirectives(cursor: Cursor): readonly Directive[] {
  const all: Directive[] = [];
  while (skip(cursor) === code.dot) {
    const word = dotWord(cursor);
    skip(cursor);
    const from = cursor.at;
    skipBalanced(cursor, (c) => c === code.dot || c === code.openBrace || c === code.semicolon);
    const text = cursor.text.slice(from, cursor.at).trimEnd();
    // Only a pragma has a semicolon of its own; any other ends a declaration without a body.
    if (word === ".pragma") expect(cursor, code.semicolon);
    all.push({ name: word, text });
  }
  return all;
}

function other(cursor: Cursor, at: number, word: string): Verbatim {
  if (word === ".section") section(cursor);
  else if (word === ".file") file(cursor);
  else if (plainLines.has(word)) toEndOfLine(cursor);
  else {
    skipBalanced(cursor, (c) => c === code.semicolon);
    expect(cursor, code.semicolon);
  }
  return {
    kind: "verbatim",
    at,
    end: cursor.at,
    word,
    text: cursor.text.slice(at, cursor.at).trimEnd(),
  };
}

const plainLines: ReadonlySet<string> = new Set([".version", ".target", ".address_size", ".loc"]);

function toEndOfLine(cursor: Cursor): void {
  const { text } = cursor;
  for (; cursor.at < text.length; cursor.at += 1) {
    const c = peek(cursor);
    if (c === code.newline || c === code.semicolon) return;
    if (c === code.slash) {
      const second = text.charCodeAt(cursor.at + 1);
      if (second === code.slash || second === code.star) return;
    }
  }
}

/** After `.file 1 "name"` there may be `, timestamp, size`. */
function file(cursor: Cursor): void {
  skipBalanced(cursor, (c) => c === code.newline || c === code.quote || c === code.semicolon);
  if (skip(cursor) !== code.quote) fail(cursor, "the file's name is missing");
  skipString(cursor);
  toEndOfLine(cursor);
}
