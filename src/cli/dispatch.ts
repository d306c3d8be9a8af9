import { errors, packageRoot, packageVersion } from "#core";
import type { Command } from "./command.ts";
import { commandNames, loadCommand, loadCommands } from "./commands.ts";
import { configFiles, readConfig } from "./config.ts";
import { help, overview, parse, separateCommand } from "./parse.ts";
import { similar } from "./similar.ts";

/** Finds the command and runs it with its options; resolves to the exit status. */
export async function dispatch(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "help" && rest[0] !== undefined) return await dispatch([rest[0], "--help"]);
  if (name === undefined || name === "help" || asksForHelp([name])) {
    console.log(overview(await loadCommands()));
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    console.log(packageVersion());
    return 0;
  }
  const command = await commandCalled(name);
  const given = separateCommand(command, rest);
  if (asksForHelp(given)) {
    console.log(help(command, process.stdout.columns));
    return 0;
  }
  const configured = commandNames.includes(name)
    ? readConfig(command, commandNames, configFiles(process.env))
    : undefined;
  return await command.run(parse(command, given, configured));
}

/** Throws what `dispatch` would throw for a command or an option that does not exist. Runs nothing. */
export async function checkCommandLine([name, ...rest]: readonly string[]): Promise<void> {
  if (name === undefined || name === "help" || name.startsWith("-")) return;
  const command = await commandCalled(name);
  const given = separateCommand(command, rest);
  if (!asksForHelp(given)) parse(command, given);
}

async function commandCalled(name: string): Promise<Command> {
  const command = await loadCommand(name).catch(refuseIncomplete);
  if (command) return command;
  throw errors.unknownCommand(name, commandNames, similar(name, commandNames));
}

/** Throws a UserError if a package is missing, as in a clone where only the bundle was copied to. */
function refuseIncomplete(error: NodeJS.ErrnoException): never {
  const [, missing] = /^Cannot find package '([^']+)'/.exec(error.message) ?? [];
  if (error.code !== "ERR_MODULE_NOT_FOUND" || missing === undefined) throw error;
  throw errors.packageMissing(packageRoot(), missing);
}

/** Words after "--" belong to the command that is run. */
function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes("--help") || own.includes("-h");
}
