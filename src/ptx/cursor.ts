// Reading PTX character by character. There is no token list: the parser moves a cursor over the text and
// slices out what the tree keeps, which is what makes it fast.
import { PtxError } from "./faults.ts";

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

// What a character may be part of, as bits.
const START = 1; // of a name
const INSIDE = 2; // a name
const DIGIT = 4;
const DOTTED = 8; // an operation or a name with a component: name characters and dots
const BLANK = 16;

const kinds = new Uint8Array(128);
const mark = (characters: string, bits: number) => {
  for (const one of characters) kinds[one.charCodeAt(0)] = (kinds[one.charCodeAt(0)] ?? 0) | bits;
};
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
mark(`${letters}_$%`, START | INSIDE | DOTTED);
mark("0123456789", INSIDE | DIGIT | DOTTED);
mark(".", DOTTED);
mark(" \t\r\n\f\v", BLANK);

// Beyond the end, charCodeAt gives NaN, whose entry is undefined: no kind at all.
const is = (c: number, bits: number) => ((kinds[c] ?? 0) & bits) !== 0;
export const startsName = (c: number) => is(c, START);
export const isDigit = (c: number) => is(c, DIGIT);

/** The next character's code, NaN at the end. */
export const peek = (cursor: Cursor) => cursor.text.charCodeAt(cursor.at);

export function fail(cursor: Cursor, wanted: string, at = cursor.at): never {
  throw new PtxError(cursor.text, at, wanted);
}

/** Skips blanks and comments; the next character's code. */
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

/** Where the comment that begins at `at` ends, or `at` if none does. */
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

/** A name, as a slice; the cursor must stand on its first character. */
export function name(cursor: Cursor): string {
  const from = cursor.at;
  if (!startsName(peek(cursor))) fail(cursor, "a name is missing");
  skipWhile(cursor, INSIDE);
  return cursor.text.slice(from, cursor.at);
}

/** A name with its component, if it has one: `%tid.x`. */
export function dottedName(cursor: Cursor): string {
  const from = cursor.at;
  if (!startsName(peek(cursor))) fail(cursor, "a name is missing");
  skipWhile(cursor, DOTTED);
  return cursor.text.slice(from, cursor.at);
}

/** What is left of an operation's text, `::` included. */
export function skipOperation(cursor: Cursor): void {
  const { text } = cursor;
  for (;;) {
    skipWhile(cursor, DOTTED);
    if (text.charCodeAt(cursor.at) !== code.colon || text.charCodeAt(cursor.at + 1) !== code.colon)
      return;
    cursor.at += 2;
  }
}

/** `.word`, with its dot and with `::`; the cursor stands on the dot. */
export function dotWord(cursor: Cursor): string {
  const from = cursor.at;
  const { text } = cursor;
  cursor.at += 1;
  for (;;) {
    skipWhile(cursor, INSIDE);
    if (text.charCodeAt(cursor.at) !== code.colon || text.charCodeAt(cursor.at + 1) !== code.colon)
      break;
    cursor.at += 2;
  }
  if (cursor.at === from + 1) fail(cursor, "a word is missing after the dot", from);
  return text.slice(from, cursor.at);
}

/**
 * A number as written, with its sign. Its letters are not checked: `0x1F`, `0f3F800000`, `1.5e-3`, `7U`.
 */
export function number(cursor: Cursor): string {
  const from = cursor.at;
  const { text } = cursor;
  if (peek(cursor) === code.minus || peek(cursor) === code.plus) cursor.at += 1;
  if (!isDigit(peek(cursor))) fail(cursor, "a number is missing");
  const digits = cursor.at;
  skipWhile(cursor, DOTTED);
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
    skipWhile(cursor, DIGIT);
  }
  return text.slice(from, cursor.at);
}

const LOWER_E = 101;
const LOWER_X = 120;

function skipWhile(cursor: Cursor, bits: number): void {
  const { text } = cursor;
  let at = cursor.at;
  while (is(text.charCodeAt(at), bits)) at += 1;
  cursor.at = at;
}

/** Skips blanks, then exactly this character. */
export function expect(cursor: Cursor, wanted: number): void {
  if (skip(cursor) !== wanted) fail(cursor, `"${String.fromCharCode(wanted)}" is missing`);
  cursor.at += 1;
}

/** The cursor stands on a quote; it ends behind the closing one. */
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

/**
 * Moves to the first character outside of brackets, strings and comments that `stops` accepts. Brackets must
 * pair up; a closing one without an opener ends the text too.
 */
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
