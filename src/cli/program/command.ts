// The definition of a command. The parser, the validation, the types of `run`'s argument and the `--help` text are made
// from its options table, so each option is described once. The functions below make options.
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
  /** The name of the value in `--help`, such as SECONDS. */
  readonly placeholder: string;
  /** All values that it may have; undefined where they can't be listed. */
  readonly choices?: readonly string[];
  readonly doc: string;
  /** The value that `run` gets when the option is not given. */
  readonly fallback: T;
  /** How help shows the fallback, if not as it is. */
  readonly said?: string;
  /** A name of the version before, which still works, with a note. */
  readonly formerly?: string;
  /** Makes the value from the text. Throws a UserError that says what is wrong with the text. */
  parse(text: string): T;
}

export type OptionsTable = Readonly<Record<string, Option>>;

/** The argument of `run`: the value of each option, under the option's name. */
export type Args<O extends OptionsTable> = {
  readonly [K in keyof O]: O[K] extends Option<infer T> ? T : never;
} & { readonly positional: readonly string[] };

export interface Positional {
  /** As shown in the usage line, such as COMMAND… */
  readonly name: string;
  readonly doc: string;
  readonly atLeast: number;
  /** True if this first word begins the command line of another program, as if "--" stood before it. */
  endsOptions?(word: string): boolean;
}

export interface Command {
  readonly name: string;
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly options: OptionsTable;
  readonly positional?: Positional;
  /** Words of what the command prints, and what they mean; shown below the options. */
  readonly terms?: readonly (readonly [word: string, meaning: string])[];
  /** Command lines to copy, shown below the options. Files that they name exist, or are clearly the reader's own. */
  readonly examples?: readonly string[];
  /** Resolves to the exit status: 0 done, 1 failed. Wrong use and known failures are thrown UserErrors. */
  // biome-ignore lint/suspicious/noExplicitAny: the table of commands holds commands of every table
  run(args: any): Promise<number>;
}

/** The parts of a command that say how its command line is read. */
export type CommandLine = Pick<Command, "name" | "options" | "positional">;

/** The words of which one comes first: "import", "list" and "show" of "-- COMMAND… | import FILE… | list | show NAME". */
export const firstWords = ({ positional }: Command): readonly string[] =>
  (positional?.name ?? "").split(" | ").flatMap((way) => {
    const words = (way.split(" ")[0] ?? "").split("|");
    return words.every((word) => /^[a-z-]*[a-z]$/.test(word)) ? words : [];
  });

/** The command line of another program comes last. */
export const runsProgram = ({ positional }: Command): boolean =>
  positional?.name.startsWith("-- ") ?? false;

/** Types `run`'s argument from the options table. */
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

/** The fallback in help; undefined: it says nothing. */
export function shownFallback({ fallback, said }: Option): string | undefined {
  if (said !== undefined) return said;
  const tells = typeof fallback === "string" ? fallback !== "" : fallback !== 0;
  return tells && (typeof fallback === "string" || typeof fallback === "number")
    ? `${fallback}`
    : undefined;
}

/** An option that had another name in the version before. */
export const renamed = <T>(formerly: string, option: Option<T>): Option<T> => ({
  ...option,
  formerly,
});

/** The present name of an option that is given by its present or former name; undefined: there is none. */
export function presentName(options: OptionsTable, given: string): string | undefined {
  if (Object.hasOwn(options, given)) return given;
  return Object.keys(options).find((name) => options[name]?.formerly === given);
}

/** The option --json, which every command that prints has: `options: { …, json }`. */
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

/** A path of a file or folder; this package's own files are found from everywhere. */
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

/** A time in the past, as ms of the wall clock. */
export const since = (doc: string): Option<number | undefined> =>
  value("TIME", undefined, doc, (given) => parseSince(given, wallNow()));

export const address = (placeholder: string, doc: string): Option<Address | undefined> =>
  value(placeholder, undefined, doc, parseAddress);

/** An option that may be given several times. The list is empty if it is not given. */
export const list = (placeholder: string, doc: string): Option<readonly string[]> => ({
  kind: "list",
  placeholder,
  doc,
  fallback: [],
  parse: (given) => [given],
});
