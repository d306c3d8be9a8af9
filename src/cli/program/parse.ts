import { parseArgs } from "node:util";
import { errors, packageRoot, similar, UserError, wrap } from "#core";
import {
  type Command,
  type CommandLine,
  type Option,
  presentName,
  shownFallback,
} from "./command.ts";
import type { Program } from "./program.ts";

/** Throws a UserError of exit status 2. `configured`: values in place of the fallbacks. */
export function parse(
  command: CommandLine,
  argv: readonly string[],
  configured: ReadonlyMap<string, unknown> = new Map(),
  note: (sentence: string) => void = () => {},
): Record<string, unknown> {
  const given = new Map<string, unknown>();
  const positional: string[] = [];
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(
      Object.entries(command.options).flatMap(([name, { kind, formerly = name }]) =>
        [name, formerly].map((called) => [
          called,
          { type: kind === "flag" ? "boolean" : "string", multiple: true },
        ]),
      ),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      positional.push(token.value);
      continue;
    }
    const name = presentName(command.options, token.name) ?? token.name;
    const option = command.options[name];
    const unset = flagUnset(command, token.name);
    if (unset && token.value === undefined) {
      given.set(unset, false);
      continue;
    }
    if (!option || !token.rawName.startsWith("--")) {
      const known = [...Object.keys(command.options), "help"].map((name) => `--${name}`);
      throw errors.unknownOption(token.rawName, command.name, similar(token.rawName, known));
    }
    const value = optionValue(option, token.rawName, token.value, token.inlineValue ?? false);
    if (name !== token.name) note(errors.formerName(token.rawName, `--${name}`));
    const before = given.get(name);
    given.set(name, Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value);
  }
  checkPositional(command, positional);
  const values = Object.entries(command.options).map(([name, { fallback }]) => [
    name,
    [given, configured].find((values) => values.has(name))?.get(name) ?? fallback,
  ]);
  return { ...Object.fromEntries(values), positional };
}

/** A configuration file may have set the flag. */
function flagUnset({ options }: CommandLine, name: string): string | undefined {
  const flag = name.startsWith("no-") ? name.slice("no-".length) : "";
  return Object.hasOwn(options, flag) && options[flag]?.kind === "flag" ? flag : undefined;
}

/** People leave out the "--": options after the first word belong to the command to run. */
export function separateCommand(
  { options, positional }: CommandLine,
  argv: readonly string[],
): readonly string[] {
  const first = argv.findIndex((word, i) => !word.startsWith("-") && !takesNext(argv[i - 1]));
  const end = argv.indexOf("--");
  const word = argv[first];
  if (word === undefined || (end >= 0 && end < first) || !positional?.endsOptions?.(word))
    return argv;
  return [...argv.slice(0, first), "--", ...argv.slice(first)];

  function takesNext(before = ""): boolean {
    const name = before.startsWith("--") ? presentName(options, before.slice(2)) : undefined;
    const option = name === undefined ? undefined : options[name];
    return option !== undefined && option.kind !== "flag";
  }
}

/** Words after "--" belong to the command that is run. */
export function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes("--help") || own.includes("-h");
}

function optionValue(
  option: Option,
  name: string,
  text: string | undefined,
  inline: boolean,
): unknown {
  if (option.kind === "flag") {
    if (text !== undefined) throw errors.optionTakesNoValue(name);
    return true;
  }
  // A word that looks like an option is one, unless it was written --name=--value.
  if (text === undefined || (!inline && text.startsWith("--")))
    throw errors.optionNeedsValue(name, option.placeholder);
  try {
    return option.parse(text);
  } catch (error) {
    throw error instanceof UserError ? errors.badOption(name, error) : error;
  }
}

function checkPositional({ name, positional }: CommandLine, given: readonly string[]): void {
  const [first] = given;
  if (!positional && first !== undefined) throw errors.strayArgument(name, first);
  if (positional && given.length < positional.atLeast)
    throw errors.missingArgument(name, positional.name);
}

interface Row {
  readonly left: string;
  readonly right: string;
}

const HELP_COLUMNS = 100;
const LEFT_COLUMNS = 28;

export function help(
  { name: program }: Pick<Program, "name">,
  { name, summary, options, positional, terms = [], examples = [] }: Command,
  columns = HELP_COLUMNS,
): string {
  const rows = Object.entries(options).map(([given, option]) => ({
    left: `--${given}${option.kind === "flag" ? "" : ` ${option.placeholder}`}`,
    right: `${option.doc}${fallbackText(option)}${option.kind === "list" ? " (repeatable)" : ""}`,
  }));
  const width = Math.min(columns, HELP_COLUMNS);
  const ways = positional ? positional.name.split(" | ") : [""];
  return [
    ...wrap(`${program} ${name}: ${summary}`, width),
    "",
    ...ways.map((way, i) =>
      `${i === 0 ? "Usage:" : "      "} ${program} ${name} [options] ${way}`.trimEnd(),
    ),
    ...(positional ? wrap(positional.doc, width - 2).map((line) => `  ${line}`) : []),
    "",
    ...twoColumns([...rows, { left: "--help", right: "show this" }], width),
    ...(terms.length > 0 ? ["", "It prints:"] : []),
    ...twoColumns(
      terms.map(([left, right]) => ({ left, right })),
      width,
    ),
    ...(examples.length > 0 ? ["", "Examples:"] : []),
    ...examples.flatMap((example) => example.split("\n").map((line) => `    ${line}`)),
  ].join("\n");
}

export const environment: readonly Row[] = [
  {
    left: "COTENANT_DIR",
    right: "the agent's directory; agent and clients need the same one",
  },
  {
    left: "COTENANT_CONFIG",
    right:
      "a file of options instead of /etc/cotenant/config.toml and ~/.config/cotenant/config.toml",
  },
  { left: "COTENANT_OFF=1", right: "run: the command runs as if Cotenant were not there" },
  { left: "COTENANT_DEBUG=1", right: "clients say on stderr what they decide" },
  {
    left: "COTENANT_PROFILES",
    right: "the folder of profiles, for profile and run --profile",
  },
];

export const overview = (
  { name: program, about, hints }: Program,
  commands: readonly Command[],
): string =>
  [
    `${program}: ${about}`,
    "",
    `Usage: ${program} COMMAND [options]`,
    "",
    ...twoColumns(
      commands.map(({ name, summary }) => ({ left: name, right: summary })),
      HELP_COLUMNS,
    ),
    "",
    ...hints,
    "",
    "Environment:",
    ...twoColumns(environment, HELP_COLUMNS),
    "",
    `Pages that help names, such as docs/guide/run.md, are in ${packageRoot()}.`,
  ].join("\n");

/** Text behind a list of one line per item gets a line of its own. */
function fallbackText(option: Option): string {
  const shown = shownFallback(option);
  if (shown === undefined) return "";
  return option.doc.includes("\n") ? `\n(default: ${shown})` : ` (default: ${shown})`;
}

/** Text that is too wide for the left column gets lines of its own. */
function twoColumns(rows: readonly Row[], columns: number): string[] {
  const width = Math.min(LEFT_COLUMNS, Math.max(...rows.map(({ left }) => left.length)));
  return rows.flatMap(({ left, right }) => {
    const lines = wrap(right, columns - width - 4);
    const lefts = left.length > width ? wrap(left.replaceAll("|", "| "), columns - 2) : [];
    const beside = lefts.length > 0 ? "" : left;
    return [
      ...lefts.map((line) => `  ${line.replaceAll("| ", "|")}`),
      ...lines.map((line, i) => `  ${(i === 0 ? beside : "").padEnd(width)}  ${line}`),
    ];
  });
}
