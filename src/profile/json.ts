// JSON.parse that says on which line, and in which field, it failed, which Node's own does not always; and on which
// line a field stands that proves wrong later. A field is written as one would: kernels[3].durationNs.p50.

/** `line`, from 1, and `field` when the text is no JSON. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown; readonly lineOf: (field: string) => number }
  | {
      readonly ok: false;
      readonly line: number;
      /** Empty: the whole. */
      readonly field: string;
      readonly why: string;
    };

export function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text), lineOf: (field) => lineOf(text, field) };
  } catch {
    const { at, field, why } = walked(text) ?? { at: 0, field: "", why: "it is no JSON." };
    return { ok: false, line: lineAt(text, at), field, why };
  }
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length;

/** Of one that is not there, of what should hold it. */
function lineOf(text: string, field: string): number {
  const begins = new Map<string, number>();
  walked(text, (path, at) => begins.set(path, at));
  let there = field;
  while (there !== "" && !begins.has(there)) there = there.replace(/(^|\.)[^.[]*$|\[\d+\]$/, "");
  return lineAt(text, begins.get(there) ?? 0);
}

const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in a string
  /[\t\n\r ]*(?:("(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([[{\]},:]))/y;

const SPACE = /\s*/y;

/** A token that the end of the text cuts. */
const CUT = /^(?:"[^"\n]*|tr?u?|fa?l?s?|nu?l?|-)$/;

/** What may come next. */
type Next = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end";

/** What is open where the walk is: a list with the index it has come to, an object with its latest name. */
interface Open {
  readonly bracket: "[" | "{";
  index: number;
  name: string;
}

const pathOf = (open: readonly Open[]): string =>
  open
    .map(({ bracket, index, name }, i) =>
      bracket === "[" ? `[${index}]` : i === 0 || name === "" ? name : `.${name}`,
    )
    .join("");

/** Walks the grammar by tokens: where each value begins, and the first fault. */
function walked(
  text: string,
  begins?: (path: string, at: number) => void,
): { at: number; field: string; why: string } | undefined {
  const open: Open[] = [];
  let next: Next | "nothing" = "value";
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    const [whole, string, scalar, mark = ""] = TOKEN.exec(text) ?? [];
    SPACE.lastIndex = at;
    const begin = at + (SPACE.exec(text)?.[0].length ?? 0);
    const over = begin === text.length;
    if (over && next === "nothing") return undefined;
    if (over || (whole === undefined && CUT.test(text.slice(begin))))
      return { at: begin, field: pathOf(open), why: "it ends early: was it cut short?" };
    const token = string ? "string" : scalar ? "scalar" : mark;
    const isValue = next === "value" || (next === "value or ]" && token !== "]");
    if (begins && isValue) begins(pathOf(open), begin);
    const after: Next | "nothing" | undefined =
      whole === undefined ? undefined : step(next, token, open);
    if (whole === undefined || after === undefined)
      return {
        at: begin,
        field: pathOf(open),
        why: `it has ${shown(text, begin)} where JSON has ${wanted(next, open)}.`,
      };
    const top = open.at(-1);
    if (top && (next === "key" || next === "key or }") && string) top.name = JSON.parse(string);
    if (top && next === ", or end" && mark === ",") top.index++;
    next = after;
    at += whole.length;
  }
}

/** Undefined if the token may not come here. */
function step(next: Next | "nothing", token: string, open: Open[]): Next | "nothing" | undefined {
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
      return value(token, open, done);
    case "value":
      return value(token, open, done);
  }
}

function value(token: string, open: Open[], done: () => Next | "nothing") {
  if (token === "string" || token === "scalar") return done();
  if (token !== "[" && token !== "{") return undefined;
  open.push({ bracket: token, index: 0, name: "" });
  return token === "[" ? "value or ]" : "key or }";
}

const wanted = (next: Next | "nothing", open: readonly Open[]): string =>
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
  JSON.stringify(/^\S{1,12}/.exec(text.slice(at, at + 12))?.[0] ?? "");
