// There is no token list, and equal words are one object: that makes parsing fast.
import { PtxError } from "./errors.ts";
import { InternCache } from "./intern-cache.ts";
import { type Name, type Operation, operation } from "./syntax.ts";

export interface Cursor {
  readonly text: string;
  at: number;
}

export const code = {
  newline: 10,
  quote: 34,
  percent: 37,
  open: 40,
  close: 41,
  star: 42,
  plus: 43,
  comma: 44,
  minus: 45,
  dot: 46,
  slash: 47,
  colon: 58,
  semicolon: 59,
  less: 60,
  equals: 61,
  greater: 62,
  at: 64,
  openSquare: 91,
  backslash: 92,
  closeSquare: 93,
  openBrace: 123,
  bar: 124,
  closeBrace: 125,
  bang: 33,
} as const;

// Bits say what a character may be part of.
const START = 1; // of a name
const INSIDE = 2; // a name
const DIGIT = 4;
const DOTTED = 8; // an operation or a name with a component: name characters and dots
const BLANK = 16;

// Every UTF-16 code unit has an entry, so that no index is out of range.
const kinds = new Uint8Array(1 << 16);
const mark = (characters: string, bits: number) => {
  for (const one of characters) kinds[one.charCodeAt(0)] = (kinds[one.charCodeAt(0)] ?? 0) | bits;
};
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
mark(`${letters}_$%`, START | INSIDE | DOTTED);
mark("0123456789", INSIDE | DIGIT | DOTTED);
mark(".", DOTTED);
mark(" \t\r\n\f\v", BLANK);

// At the end of the text charCodeAt gives NaN, which `| 0` turns into 0, a character of no kind.
const is = (c: number, bits: number) => ((kinds[c | 0] ?? 0) & bits) !== 0;
export const startsName = (c: number) => is(c, START);
export const isDigit = (c: number) => is(c, DIGIT);

const words = new InternCache<string>((word) => word);
const names = new InternCache<Name>((name) => ({ kind: "name", name }));
const operations = new InternCache<Operation>(operation);

export const peek = (cursor: Cursor) => cursor.text.charCodeAt(cursor.at);

export function fail(cursor: Cursor, wanted: string, at = cursor.at): never {
  throw new PtxError(cursor.text, at, wanted);
}

export function skip(cursor: Cursor): number {
  const { text } = cursor;
  let at = cursor.at;
  for (;;) {
    const c = text.charCodeAt(at);
    if (is(c, BLANK)) at += 1;
    else if (c !== code.slash) {
      cursor.at = at;
      return c;
    } else {
      const after = afterComment(cursor, at);
      if (after === at) {
        cursor.at = at;
        return c;
      }
      at = after;
    }
  }
}

function afterComment(cursor: Cursor, at: number): number {
  const { text } = cursor;
  const second = text.charCodeAt(at + 1);
  if (second === code.slash) {
    const end = text.indexOf("\n", at);
    return end < 0 ? text.length : end;
  }
  if (second !== code.star) return at;
  const end = text.indexOf("*/", at + 2);
  if (end < 0) fail(cursor, "a comment that never ends", at);
  return end + 2;
}

export function name(cursor: Cursor): string {
  const from = cursor.at;
  if (!startsName(peek(cursor))) fail(cursor, "a name is missing");
  const hash = pass(cursor, INSIDE, 0);
  return words.of(cursor.text, from, cursor.at, hash);
}

export function skipName(cursor: Cursor): void {
  pass(cursor, INSIDE, 0);
}

export function dottedName(cursor: Cursor): Name {
  const from = cursor.at;
  if (!startsName(peek(cursor))) fail(cursor, "a name is missing");
  const hash = pass(cursor, DOTTED, 0);
  return names.of(cursor.text, from, cursor.at, hash);
}

export function operationHere(cursor: Cursor): Operation {
  const from = cursor.at;
  if (!startsName(peek(cursor))) fail(cursor, "a name is missing");
  let hash = pass(cursor, INSIDE, 0);
  if (peek(cursor) === code.dot) hash = passJoined(cursor, DOTTED, hash);
  return operations.of(cursor.text, from, cursor.at, hash);
}

function passJoined(cursor: Cursor, bits: number, hash: number): number {
  const { text } = cursor;
  let all = pass(cursor, bits, hash);
  while (
    text.charCodeAt(cursor.at) === code.colon &&
    text.charCodeAt(cursor.at + 1) === code.colon
  ) {
    cursor.at += 2;
    all = pass(cursor, bits, all);
  }
  return all;
}

export function dotWord(cursor: Cursor): string {
  const from = cursor.at;
  cursor.at += 1;
  const hash = passJoined(cursor, INSIDE, 0);
  if (cursor.at === from + 1) fail(cursor, "a word is missing after the dot", from);
  return words.of(cursor.text, from, cursor.at, hash);
}

/** The letters are not checked: `0x1F`, `0f3F800000`, `1.5e-3`, `7U`. */
export function number(cursor: Cursor): string {
  const from = cursor.at;
  const { text } = cursor;
  if (peek(cursor) === code.minus || peek(cursor) === code.plus) cursor.at += 1;
  if (!isDigit(peek(cursor))) fail(cursor, "a number is missing");
  const digits = cursor.at;
  let hash = pass(cursor, DOTTED, from - digits);
  // The sign of a decimal exponent; 0x1E-1 is a subtraction.
  const last = text.charCodeAt(cursor.at - 1) | 32;
  const sign = peek(cursor);
  if (
    last === LOWER_E &&
    (sign === code.minus || sign === code.plus) &&
    isDigit(text.charCodeAt(cursor.at + 1)) &&
    (text.charCodeAt(digits + 1) | 32) !== LOWER_X
  ) {
    cursor.at += 1;
    hash = pass(cursor, DIGIT, hash);
  }
  return words.of(text, from, cursor.at, hash);
}

const LOWER_E = 101;
const LOWER_X = 120;

function pass(cursor: Cursor, bits: number, before: number): number {
  const { text } = cursor;
  let at = cursor.at;
  let hash = before;
  for (let c = text.charCodeAt(at); is(c, bits); c = text.charCodeAt(at)) {
    hash = (Math.imul(hash, 31) + c) | 0;
    at += 1;
  }
  cursor.at = at;
  return hash;
}

export function expect(cursor: Cursor, wanted: number): void {
  if (skip(cursor) !== wanted) fail(cursor, `"${String.fromCharCode(wanted)}" is missing`);
  cursor.at += 1;
}

export function skipString(cursor: Cursor): void {
  const from = cursor.at;
  const { text } = cursor;
  for (let at = from + 1; at < text.length; at += 1) {
    const c = text.charCodeAt(at);
    if (c === code.backslash) at += 1;
    else if (c === code.quote) {
      cursor.at = at + 1;
      return;
    }
  }
  fail(cursor, "a string that never ends", from);
}

/** It stops outside of brackets, strings and comments, or at a bracket without an opener. */
export function skipBalanced(cursor: Cursor, stops: (c: number) => boolean): void {
  const from = cursor.at;
  let depth = 0;
  for (;;) {
    const c = skip(cursor);
    if (depth === 0 && stops(c)) return;
    if (c === code.quote) {
      skipString(cursor);
      continue;
    }
    if (c === code.open || c === code.openBrace || c === code.openSquare) depth += 1;
    else if (c === code.close || c === code.closeBrace || c === code.closeSquare) {
      if (depth === 0) return;
      depth -= 1;
    } else if (Number.isNaN(c)) fail(cursor, "the end is missing of what begins", from);
    cursor.at += 1;
  }
}

export function skipLine(cursor: Cursor): void {
  const end = cursor.text.indexOf("\n", cursor.at);
  cursor.at = end < 0 ? cursor.text.length : end;
}

export function skipBody(cursor: Cursor): void {
  const from = cursor.at - 1;
  const { text } = cursor;
  const marks = /[{}"]|\/[/*]|@@/g;
  for (let depth = 1; depth > 0; ) {
    marks.lastIndex = cursor.at;
    const found = marks.exec(text);
    if (found === null) fail(cursor, 'the "}" is missing of the body that begins', from);
    cursor.at = found.index;
    const [mark] = found;
    if (mark === '"') skipString(cursor);
    else if (mark === "@@") skipLine(cursor);
    else if (mark.length > 1) cursor.at = afterComment(cursor, found.index);
    else {
      cursor.at += 1;
      depth += mark === "{" ? 1 : -1;
    }
  }
}
