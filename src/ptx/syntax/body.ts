import {
  type Cursor,
  code,
  dotWord,
  expect,
  fail,
  isDigit,
  name,
  number,
  operationHere,
  peek,
  skip,
  skipBalanced,
  skipLine,
  skipName,
  startsName,
} from "./cursor.ts";
import { spaces, variable } from "./declarations.ts";
import { operands } from "./operands.ts";
import {
  type Instruction,
  operation,
  type Predicate,
  type Statement,
  type Verbatim,
} from "./syntax.ts";

/** The limit prevents a stack overflow. nvcc nests one brace; inline assembly may nest more. */
const DEEPEST = 200;

export function body(cursor: Cursor, depth = 0): readonly Statement[] {
  const from = cursor.at - 1;
  if (depth > DEEPEST) fail(cursor, "braces are nested too deep", from);
  const all: Statement[] = [];
  for (;;) {
    const c = skip(cursor);
    const at = cursor.at;
    if (startsName(c)) all.push(labelOrInstruction(cursor, at));
    else if (c === code.at) all.push(parsePredicated(cursor, at));
    else if (c === code.dot) all.push(directive(cursor, at));
    else if (c === code.openBrace) {
      cursor.at += 1;
      const inner = body(cursor, depth + 1);
      all.push({ kind: "block", at, end: cursor.at, body: inner });
    } else if (c === code.closeBrace) {
      cursor.at += 1;
      return all;
    } else if (c === code.semicolon) cursor.at += 1;
    else if (Number.isNaN(c)) fail(cursor, 'the "}" is missing of the body that begins', from);
    else fail(cursor, "no statement begins so,");
  }
}

function labelOrInstruction(cursor: Cursor, at: number): Statement {
  skipName(cursor);
  const end = cursor.at;
  const colon = peek(cursor) !== code.dot && skip(cursor) === code.colon;
  if (colon && cursor.text.charCodeAt(cursor.at + 1) !== code.colon) {
    cursor.at += 1;
    return { kind: "label", at, end: cursor.at, name: cursor.text.slice(at, end) };
  }
  cursor.at = at;
  return instruction(cursor, at, undefined);
}

function parsePredicated(cursor: Cursor, at: number): Statement {
  cursor.at += 1;
  let c = skip(cursor);
  if (c === code.at) return line(cursor, at);
  const negated = c === code.bang;
  if (negated) {
    cursor.at += 1;
    c = skip(cursor);
  }
  const predicate: Predicate = { register: name(cursor), negated };
  skip(cursor);
  return instruction(cursor, at, predicate);
}

function instruction(cursor: Cursor, at: number, predicate: Predicate | undefined): Instruction {
  const first = operationHere(cursor);
  // `mov .u32`, with a blank, is one operation too.
  let apart = "";
  while (skip(cursor) === code.dot) apart += dotWord(cursor);
  const done = apart === "" ? first : operation(first.text + apart);
  const given = operands(cursor);
  return { kind: "instruction", at, end: cursor.at, predicate, operation: done, operands: given };
}

function directive(cursor: Cursor, at: number): Statement {
  const word = dotWord(cursor);
  if (spaces.has(word)) return variable(cursor, at, "", word, false);
  if (word === ".loc") location(cursor);
  else if (word === ".section") section(cursor);
  else {
    skipBalanced(cursor, (c) => c === code.semicolon);
    expect(cursor, code.semicolon);
  }
  return piece(cursor, at, word);
}

const piece = (cursor: Cursor, at: number, word: string): Verbatim => ({
  kind: "verbatim",
  at,
  end: cursor.at,
  word,
  text: cursor.text.slice(at, cursor.at),
});

/** `@@DWARF ...`, as old compilers wrote it, up to the end of the line. */
export function line(cursor: Cursor, at: number): Verbatim {
  skipLine(cursor);
  return piece(cursor, at, "@@");
}

/**
 * `.loc file line column`, then `, function_name LABEL+4, inlined_at file line column`: as there is
 * no terminator, the grammar says where it ends, so that no instruction hides in it.
 */
function location(cursor: Cursor): void {
  let end = cursor.at;
  for (;;) {
    let c = skip(cursor);
    if (c === code.comma) {
      cursor.at += 1;
      c = skip(cursor);
      name(cursor);
      end = cursor.at;
      c = skip(cursor);
      if (startsName(c)) {
        name(cursor);
        end = cursor.at;
        c = skip(cursor);
      }
      if (c === code.plus) {
        cursor.at += 1;
        skip(cursor);
        number(cursor);
        end = cursor.at;
      }
    } else if (isDigit(c)) {
      number(cursor);
      end = cursor.at;
    } else {
      cursor.at = end;
      return;
    }
  }
}

export function section(cursor: Cursor): void {
  skipBalanced(cursor, (c) => c === code.openBrace || c === code.semicolon);
  expect(cursor, code.openBrace);
  skipBalanced(cursor, (c) => c === code.closeBrace);
  expect(cursor, code.closeBrace);
}
