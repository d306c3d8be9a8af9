// Node's JSON.parse does not always report the line and the field of an error:
// kernels[3].durationNs.p50.

export type Parsed =
  | { readonly ok: true; readonly value: unknown; readonly lineOf: (field: string) => number }
  | {
      readonly ok: false;
      readonly line: number;
      readonly field: string; // empty: the whole
      readonly why: string;
    };

export function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text), lineOf: (field) => lineOf(text, field) };
  } catch {
    const { at, field, why } = walk(text) ?? { at: 0, field: "", why: "it is no JSON." };
    return { ok: false, line: lineAt(text, at), field, why };
  }
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length;

function lineOf(text: string, field: string): number {
  let best = { length: 0, at: 0 };
  walk(text, field, (length, at) => {
    if (length > best.length) best = { length, at };
  });
  return lineAt(text, best.at);
}

// A text may be made to be slow to read. So strings and blanks are read character by character: a
// regular expression goes back over what it has read, and needs a stack for it.
const BLANKS = "\t\n\r ";
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const LONGEST_ESCAPE = 6;

/** The end of a text may cut a word, a number or an escape. */
const CUT_SCALAR = /^(?:tr?u?|fa?l?s?|nu?l?|-)$/;
const CUT_ESCAPE = /^\\(?:u[0-9a-fA-F]*)?$/;

interface Token {
  readonly kind: "string" | "scalar" | "mark";
  readonly text: string;
}

/** "cut": the text ends in the token. */
function tokenAt(text: string, at: number): Token | "cut" | undefined {
  const first = text.charAt(at);
  if (first === '"') return stringAt(text, at);
  if (first !== "" && "[]{},:".includes(first)) return { kind: "mark", text: first };
  SCALAR.lastIndex = at;
  const scalar = SCALAR.exec(text)?.[0];
  if (scalar !== undefined) return { kind: "scalar", text: scalar };
  return CUT_SCALAR.test(text.slice(at, at + LONGEST_ESCAPE)) ? "cut" : undefined;
}

function stringAt(text: string, at: number): Token | "cut" | undefined {
  for (let i = at + 1; i < text.length; i++) {
    const one = text.charAt(i);
    if (one === '"') return { kind: "string", text: text.slice(at, i + 1) };
    if (one < " ") return undefined; // JSON allows no control characters in a string
    if (one !== "\\") continue;
    ESCAPE.lastIndex = i;
    const escaped = ESCAPE.exec(text)?.[0];
    if (escaped === undefined)
      return CUT_ESCAPE.test(text.slice(i, i + LONGEST_ESCAPE)) ? "cut" : undefined;
    i += escaped.length - 1;
  }
  return "cut";
}

function pastBlanks(text: string, at: number): number {
  let i = at;
  while (i < text.length && BLANKS.includes(text.charAt(i))) i++;
  return i;
}

type Next = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end";

/** `matched`: characters of the searched field's name that lead here; -1 if it is elsewhere. */
interface Open {
  readonly bracket: "[" | "{";
  readonly matched: number;
  index: number;
  name: string;
}

const LONGEST_IN_MESSAGE = 200;

export const inMessage = (text: string): string =>
  (text.length > LONGEST_IN_MESSAGE ? `${text.slice(0, LONGEST_IN_MESSAGE)}…` : text).replace(
    /\p{Cc}/gu,
    "?",
  );

function pathOf(open: readonly Open[]): string {
  let path = "";
  for (const one of open) {
    path += stepInto(one, path === "");
    if (path.length > LONGEST_IN_MESSAGE) break;
  }
  return inMessage(path);
}

const stepInto = ({ bracket, index, name }: Open, isFirst: boolean): string =>
  bracket === "[" ? `[${index}]` : isFirst || name === "" ? name : `.${name}`;

/** Returns -1 if the next value neither is nor holds the field. */
function matchedBy(open: readonly Open[], field: string): number {
  const holder = open.at(-1);
  if (holder === undefined) return 0;
  if (holder.matched < 0) return -1;
  const step = stepInto(holder, holder.matched === 0);
  if (!field.startsWith(step, holder.matched)) return -1;
  const end = holder.matched + step.length;
  return end === field.length || ".[".includes(field.charAt(end)) ? end : -1;
}

// Returns the first error. `found` gets where the value of `field`, or one that holds it, begins.
function walk(
  text: string,
  field = "",
  found?: (matched: number, at: number) => void,
): { at: number; field: string; why: string } | undefined {
  const open: Open[] = [];
  let next: Next | "nothing" = "value";
  let at = 0;
  for (;;) {
    at = pastBlanks(text, at);
    const over = at === text.length;
    if (over && next === "nothing") return undefined;
    const token = over ? "cut" : tokenAt(text, at);
    if (token === "cut") {
      const why = text.trim() === "" ? "it is empty." : "it ends early: was it cut short?";
      return { at, field: pathOf(open), why };
    }
    const kind = token?.kind === "mark" ? token.text : (token?.kind ?? "");
    const isValue: boolean = next === "value" || (next === "value or ]" && kind !== "]");
    const matched: number = found && isValue ? matchedBy(open, field) : -1;
    if (found && matched >= 0) found(matched, at);
    const after: Next | "nothing" | undefined = token && step(next, kind, open, matched);
    if (token === undefined || after === undefined)
      return {
        at,
        field: pathOf(open),
        why: `it has ${shown(text, at)} where JSON has ${describeNext(next, open)}.`,
      };
    const top = open.at(-1);
    if (top && (next === "key" || next === "key or }") && kind === "string")
      top.name = JSON.parse(token.text);
    if (top && next === ", or end" && kind === ",") top.index++;
    next = after;
    at += token.text.length;
  }
}

function step(
  next: Next | "nothing",
  token: string,
  open: Open[],
  matched: number,
): Next | "nothing" | undefined {
  const done = () => (open.length > 0 ? ", or end" : "nothing");
  const close = (bracket: "[" | "{") => {
    if (open.at(-1)?.bracket !== bracket) return undefined;
    open.pop();
    return done();
  };
  switch (next) {
    case "nothing":
      return undefined;
    case ":":
      return token === ":" ? "value" : undefined;
    case "key":
      return token === "string" ? ":" : undefined;
    case "key or }":
      return token === "}" ? close("{") : token === "string" ? ":" : undefined;
    case ", or end":
      if (token === ",") return open.at(-1)?.bracket === "{" ? "key" : "value";
      return token === "}" ? close("{") : token === "]" ? close("[") : undefined;
    case "value or ]":
      if (token === "]") return close("[");
      return value(token, open, matched, done);
    case "value":
      return value(token, open, matched, done);
  }
}

function value(token: string, open: Open[], matched: number, done: () => Next | "nothing") {
  if (token === "string" || token === "scalar") return done();
  if (token !== "[" && token !== "{") return undefined;
  open.push({ bracket: token, matched, index: 0, name: "" });
  return token === "[" ? "value or ]" : "key or }";
}

const describeNext = (next: Next | "nothing", open: readonly Open[]): string =>
  ({
    value: "a value",
    "value or ]": "a value",
    key: "a name in quotes",
    "key or }": "a name in quotes",
    ":": '":"',
    ", or end": `"," or "${open.at(-1)?.bracket === "{" ? "}" : "]"}"`,
    nothing: "nothing more",
  })[next];

const shown = (text: string, at: number): string =>
  JSON.stringify(/^[^\t\n\r ]{1,12}/.exec(text.slice(at, at + 12))?.[0] ?? "");
