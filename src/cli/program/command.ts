// The parser, the types of `run`'s argument and `--help` are made from the options table.
import {
  type Address,
  type Bytes,
  errors,
  type Micros,
  orShipped,
  parseAddress,
  parseBytes,
  parseDuration,
  parseSince,
  usage,
  wallNow,
} from "#core";

export interface Option<T = unknown> {
  /** A flag takes no value; a list may be given again and again. */
  readonly kind: "flag" | "value" | "list";
  /** It is the name of the value in `--help`, such as SECONDS. */
  readonly placeholder: string;
  readonly choices?: readonly string[];
  readonly doc: string;
  readonly fallback: T;
  /** Help shows it in place of the fallback. */
  readonly said?: string;
  /** It is the name in the version before; it still works, with a note. */
  readonly formerly?: string;
  /** Throws a UserError that says what is wrong with the text. */
  parse(text: string): T;
}

export type OptionsTable = Readonly<Record<string, Option>>;

export type Args<O extends OptionsTable> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
} & { readonly positional: readonly string[] };

export interface Positional {
  /** It is as shown in the usage line, such as COMMAND… */
  readonly name: string;
  readonly doc: string;
  readonly atLeast: number;
  /** True if this word begins another program's command line, as if "--" stood before it. */
  endsOptions?(word: string): boolean;
}

export interface Command {
  readonly name: string;
  /** It is one line, for the list of commands. */
  readonly summary: string;
  readonly options: OptionsTable;
  readonly positional?: Positional;
  readonly terms?: readonly (readonly [word: string, meaning: string])[];
  /** Files that they name exist, or are clearly the reader's own. */
  readonly examples?: readonly string[];
  /** Resolves to the exit status: 0 done, 1 failed. Known failures are thrown UserErrors. */
  // biome-ignore lint/suspicious/noExplicitAny: the table of commands holds commands of every table
  run(args: any): Promise<number>;
}

export type CommandLine = Pick<Command, "name" | "options" | "positional">;

/** They are "import", "list", "show" of "-- COMMAND… | import FILE… | list | show NAME". */
export const firstWords = ({ positional }: Command): readonly string[] =>
  (positional?.name ?? "").split(" | ").flatMap((way) => {
    const words = (way.split(" ")[0] ?? "").split("|");
    return words.every((word) => /^[a-z-]*[a-z]$/.test(word)) ? words : [];
  });

export const runsProgram = ({ positional }: Command): boolean =>
  positional?.name.startsWith("-- ") ?? false;

export const command = <const O extends OptionsTable>(spec: {
  readonly name: string;
  readonly summary: string;
  readonly options: O;
  readonly positional?: Positional;
  readonly terms?: NonNullable<Command["terms"]>;
  readonly examples?: readonly string[];
  run(args: Args<O>): Promise<number>;
}): Command => spec;

export const flag = (doc: string): Option<boolean> => ({
  kind: "flag",
  placeholder: "",
  doc,
  fallback: false,
  parse: () => true,
});

/** undefined: help says nothing. */
export function shownFallback({ fallback, said }: Option): string | undefined {
  if (said !== undefined) return said;
  const tells = typeof fallback === "string" ? fallback !== "" : fallback !== 0;
  return tells && (typeof fallback === "string" || typeof fallback === "number")
    ? `${fallback}`
    : undefined;
}

export const renamed = <T>(formerly: string, option: Option<T>): Option<T> => ({
  ...option,
  formerly,
});

/** `given` may be a former name; undefined: there is none. */
export function presentName(options: OptionsTable, given: string): string | undefined {
  if (Object.hasOwn(options, given)) return given;
  return Object.keys(options).find((name) => options[name]?.formerly === given);
}

export const json = flag("print one JSON document");

const value = <T, F>(
  placeholder: string,
  fallback: F,
  doc: string,
  parse: (text: string) => T,
): Option<T | F> => ({ kind: "value", placeholder, doc, fallback, parse });

export const text = <F extends string | undefined>(
  placeholder: string,
  fallback: F,
  doc: string,
): Option<string | F> => value(placeholder, fallback, doc, (given) => given);

/** This package's own files are found from everywhere. */
export const place = <F extends string | undefined>(
  placeholder: string,
  fallback: F,
  doc: string,
): Option<string | F> => value(placeholder, fallback, doc, orShipped);

export const choice = <const C extends string, F extends C | undefined>(
  choices: readonly C[],
  fallback: F,
  doc: string,
): Option<C | F> => ({
  ...value(choices.join("|"), fallback, doc, (given): C | F => {
    const found = choices.find((known) => known === given);
    if (found === undefined) throw usage(`"${given}" is not one of ${choices.join(", ")}.`);
    return found;
  }),
  choices,
});

export const number = <F extends number | undefined>(
  placeholder: string,
  fallback: F,
  doc: string,
  range: { readonly min?: number; readonly max?: number; readonly whole?: boolean } = {},
): Option<number | F> =>
  value(placeholder, fallback, doc, (given) => {
    const { min = 0, max = Number.POSITIVE_INFINITY, whole = false } = range;
    const n = given.trim() === "" ? Number.NaN : Number(given);
    const upper = max === Number.POSITIVE_INFINITY ? `, ${min} or more` : ` from ${min} to ${max}`;
    if (!(n >= min && n <= max) || (whole && !Number.isInteger(n)))
      throw errors.badQuantity(given, `a ${whole ? "whole " : ""}number${upper}`);
    return n;
  });

export const bytes = <F extends Bytes | undefined>(
  placeholder: string,
  fallback: F,
  doc: string,
): Option<Bytes | F> => value(placeholder, fallback, doc, parseBytes);

export const duration = <F extends Micros | undefined>(
  placeholder: string,
  fallback: F,
  doc: string,
): Option<Micros | F> => ({
  ...value<Micros, F>(placeholder, fallback, doc, parseDuration),
  ...(fallback !== undefined && { said: `${fallback / 1e6}s` }),
});

/** The time is in ms of the wall clock. */
export const since = (doc: string): Option<number | undefined> =>
  value("TIME", undefined, doc, (given) => parseSince(given, wallNow()));

export const address = (placeholder: string, doc: string): Option<Address | undefined> =>
  value(placeholder, undefined, doc, parseAddress);

/** The list is empty if the option is not given. */
export const list = (placeholder: string, doc: string): Option<readonly string[]> => ({
  kind: "list",
  placeholder,
  doc,
  fallback: [],
  parse: (given) => [given],
});
