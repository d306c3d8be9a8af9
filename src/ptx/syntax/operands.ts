import {
  type Cursor,
  code,
  dottedName,
  fail,
  isDigit,
  number,
  peek,
  skip,
  skipBalanced,
  startsName,
} from "./cursor.ts";
import type { Immediate, Memory, Name, Operand } from "./syntax.ts";

const DEEPEST = 32;

const none: readonly Operand[] = [];

export const operands = (cursor: Cursor) => list(cursor, code.semicolon, 0);

function list(cursor: Cursor, close: number, depth: number): readonly Operand[] {
  if (skip(cursor) === close) {
    cursor.at += 1;
    return none;
  }
  // Most instructions have up to four operands; V8 gives a list that grows room for seventeen.
  const a = operand(cursor, depth);
  if (!another(cursor, close)) return [a];
  const b = operand(cursor, depth);
  if (!another(cursor, close)) return [a, b];
  const c = operand(cursor, depth);
  if (!another(cursor, close)) return [a, b, c];
  const all = [a, b, c, operand(cursor, depth)];
  while (another(cursor, close)) all.push(operand(cursor, depth));
  return all;
}

function another(cursor: Cursor, close: number): boolean {
  const c = skip(cursor);
  if (c !== code.comma && c !== close)
    fail(cursor, close === code.semicolon ? 'a comma or ";" is missing' : '"," is missing');
  cursor.at += 1;
  if (c === code.comma) skip(cursor);
  return c === code.comma;
}

function operand(cursor: Cursor, depth: number): Operand {
  const from = cursor.at;
  const first = part(cursor, depth);
  const c = skip(cursor);
  // `(1 << 3) + 2` is an expression, not a list.
  if (first.kind === "list" && !endsOperand(c)) {
    cursor.at = from;
    return raw(cursor);
  }
  if (c === code.bar) {
    cursor.at += 1;
    skip(cursor);
    return { kind: "pair", first, second: part(cursor, depth) };
  }
  if (first.kind === "name" && (c === code.plus || c === code.minus))
    return { kind: "sum", name: first.name, offset: offset(cursor) };
  return first;
}

function part(cursor: Cursor, depth: number): Operand {
  const c = peek(cursor);
  if (startsName(c)) return dottedName(cursor);
  if (isDigit(c) || c === code.minus || c === code.plus) return immediate(cursor);
  if (c === code.openSquare) return memory(cursor, depth + 1);
  if (c === code.openBrace)
    return { kind: "vector", elements: elements(cursor, code.closeBrace, depth + 1) };
  if (c === code.open) return { kind: "list", elements: elements(cursor, code.close, depth + 1) };
  if (c === code.bang) {
    cursor.at += 1;
    skip(cursor);
    return { kind: "not", operand: dottedName(cursor) };
  }
  return raw(cursor);
}

/** A constant expression that begins with a number is kept as it is. */
function immediate(cursor: Cursor): Operand {
  const from = cursor.at;
  if (!isDigit(cursor.text.charCodeAt(from)) && !isDigit(cursor.text.charCodeAt(from + 1)))
    return raw(cursor);
  const text = number(cursor);
  if (endsOperand(skip(cursor))) return { kind: "immediate", text };
  cursor.at = from;
  return raw(cursor);
}

const endsOperand = (c: number) =>
  c === code.comma ||
  c === code.semicolon ||
  c === code.closeBrace ||
  c === code.close ||
  c === code.closeSquare ||
  c === code.bar ||
  Number.isNaN(c);

function raw(cursor: Cursor): Operand {
  const from = cursor.at;
  skipBalanced(cursor, (c) => c === code.comma || c === code.semicolon);
  const text = cursor.text.slice(from, cursor.at).trimEnd();
  if (text === "") fail(cursor, "an operand is missing");
  return { kind: "raw", text };
}

function elements(cursor: Cursor, close: number, depth: number): readonly Operand[] {
  if (depth > DEEPEST) fail(cursor, "brackets are nested too deep");
  cursor.at += 1;
  return list(cursor, close, depth);
}

function offset(cursor: Cursor): string {
  const sign = peek(cursor) === code.minus ? "-" : "+";
  cursor.at += 1;
  skip(cursor);
  return sign + number(cursor);
}

function memory(cursor: Cursor, depth: number): Memory {
  cursor.at += 1;
  const c = skip(cursor);
  const base: Name | Immediate = startsName(c)
    ? dottedName(cursor)
    : { kind: "immediate", text: number(cursor) };
  const sign = skip(cursor);
  const plus = sign === code.plus || sign === code.minus ? offset(cursor) : "";
  return { kind: "memory", base, offset: plus, rest: coordinates(cursor, depth) };
}

function coordinates(cursor: Cursor, depth: number): readonly Operand[] {
  let all: Operand[] | undefined;
  for (let c = skip(cursor); ; c = skip(cursor)) {
    if (c !== code.comma && c !== code.closeSquare) fail(cursor, '"]" is missing');
    cursor.at += 1;
    if (c === code.closeSquare) return all ?? none;
    skip(cursor);
    all ??= [];
    all.push(operand(cursor, depth));
  }
}
