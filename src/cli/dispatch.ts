import { errors, packageVersion } from "#core";
import type { Command } from "./command.ts";
import { commands } from "./commands.ts";
import { configFiles, readConfig } from "./config.ts";
import { help, overview, parse, separateCommand } from "./parse.ts";
import { similar } from "./similar.ts";

const listed = commands.filter(({ internal }) => !internal);

/** Finds the command and runs it with its options; resolves to the exit status. */
export async function dispatch(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "help" && rest[0] !== undefined) return await dispatch([rest[0], "--help"]);
  if (name === undefined || name === "help" || asksForHelp([name])) {
    console.log(overview(listed));
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    console.log(packageVersion());
    return 0;
  }
  const command = commandCalled(name);
  const given = separateCommand(command, rest);
  if (asksForHelp(given)) {
    console.log(help(command, process.stdout.columns));
    return 0;
  }
  const tables = listed.map((one) => one.name);
  const configured = command.internal
    ? undefined
    : readConfig(command, tables, configFiles(process.env));
  return await command.run(parse(command, given, configured));
}

/** Throws what `dispatch` would throw for a command or an option that does not exist. Runs nothing. */
export function checkCommandLine([name, ...rest]: readonly string[]): void {
  if (name === undefined || name === "help" || name.startsWith("-")) return;
  const command = commandCalled(name);
  const given = separateCommand(command, rest);
  if (!asksForHelp(given)) parse(command, given);
}

function commandCalled(name: string): Command {
  const command = commands.find((known) => known.name === name);
  if (command) return command;
  const known = listed.map((one) => one.name);
  throw errors.unknownCommand(name, known, similar(name, known));
}

/** Words after "--" belong to the command that is run. */
function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes("--help") || own.includes("-h");
}
