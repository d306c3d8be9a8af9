// JSON.parse that says on which line it failed, which Node's own does not always.

/** `line`, from 1, when the text is no JSON. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly line: number; readonly why: string };

export function parseJson(text: string): Parsed {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    const { at, why } = firstFault(text);
    return { ok: false, line: text.slice(0, at).split("\n").length, why };
  }
}

const TOKEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in a string
  /[\t\n\r ]*(?:("(?:[^"\\\u0000-\u001f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([[{\]},:]))/y;

/** A token that the end of the text cuts. */
const CUT = /^(?:"[^"\n]*|tr?u?|fa?l?s?|nu?l?|-)$/;

/** What may come next. */
type Next = "value" | "value or ]" | "key" | "key or }" | ":" | ", or end";

/** Walks the grammar by tokens. `text` is not JSON, so there is a fault to find. */
function firstFault(text: string): { at: number; why: string } {
  const open: ("[" | "{")[] = [];
  let next: Next | "nothing" = "value";
  let at = 0;
  for (;;) {
    TOKEN.lastIndex = at;
    const [whole, string, scalar, mark = ""] = TOKEN.exec(text) ?? [];
    const begin = at + text.slice(at).search(/\S|$/);
    if (begin === text.length || (whole === undefined && CUT.test(text.slice(begin))))
      return { at: begin, why: "it ends early: was it cut short?" };
    const token = string ? "string" : scalar ? "scalar" : mark;
    const after: Next | "nothing" | undefined =
      whole === undefined ? undefined : step(next, token, open);
    if (whole === undefined || after === undefined)
      return {
        at: begin,
        why: `it has ${shown(text, begin)} where JSON has ${wanted(next, open)}.`,
      };
    next = after;
    at += whole.length;
  }
}

/** Undefined if the token may not come here. */
function step(
  next: Next | "nothing",
  token: string,
  open: ("[" | "{")[],
): Next | "nothing" | undefined {
  const done = () => (open.length > 0 ? ", or end" : "nothing");
  const close = (bracket: "[" | "{") => {
    if (open.at(-1) !== bracket) return undefined;
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
      if (token === ",") return open.at(-1) === "{" ? "key" : "value";
      return token === "}" ? close("{") : token === "]" ? close("[") : undefined;
    case "value or ]":
      if (token === "]") return close("[");
      return value(token, open, done);
    case "value":
      return value(token, open, done);
  }
}

function value(token: string, open: ("[" | "{")[], done: () => Next | "nothing") {
  if (token === "string" || token === "scalar") return done();
  if (token !== "[" && token !== "{") return undefined;
  open.push(token);
  return token === "[" ? "value or ]" : "key or }";
}

const wanted = (next: Next | "nothing", open: readonly string[]): string =>
  ({
    value: "a value",
    "value or ]": "a value",
    key: "a name in quotes",
    "key or }": "a name in quotes",
    ":": '":"',
    ", or end": `"," or "${open.at(-1) === "{" ? "}" : "]"}"`,
    nothing: "nothing more",
  })[next];

const shown = (text: string, at: number): string =>
  JSON.stringify(/^\S{1,12}/.exec(text.slice(at, at + 12))?.[0] ?? "");
