import { errors, packageRoot, packageVersion, similar } from "#core";
import type { Command } from "./command.ts";
import { configFiles, readConfig } from "./config.ts";
import { asksForHelp, help, overview, parse, separateCommand } from "./parse.ts";
import { commandsOf, loadCommand, type Program } from "./program.ts";

export async function dispatch(program: Program, argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  if (name === "help" && rest[0] !== undefined) return await dispatch(program, [rest[0], "--help"]);
  if (name === undefined || name === "help" || asksForHelp([name])) {
    console.log(overview(program, await commandsOf(program)));
    return name === undefined ? 2 : 0;
  }
  if (["--version", "-v", "-V", "version"].includes(name)) {
    console.log(packageVersion());
    return 0;
  }
  const forwarded = program.forward?.(argv);
  if (forwarded !== undefined) return await forwarded;
  const command = await commandCalled(program, name);
  const given = separateCommand(command, rest);
  if (asksForHelp(given)) {
    console.log(help(program, command, process.stdout.columns));
    return 0;
  }
  const names = Object.keys(program.commands);
  const configured = names.includes(name)
    ? readConfig(
        command,
        [...names, ...program.other.commands],
        configFiles(process.env),
        console.error,
      )
    : undefined;
  return await command.run(parse(command, given, configured, console.error));
}

/** Throws what `dispatch` would throw for an unknown command or option; runs nothing. */
export async function checkCommandLine(
  program: Program,
  [name, ...rest]: readonly string[],
): Promise<void> {
  if (name === undefined || name === "help" || name.startsWith("-")) return;
  const command = await commandCalled(program, name);
  const given = separateCommand(command, rest);
  if (!asksForHelp(given)) parse(command, given);
}

async function commandCalled(program: Program, name: string): Promise<Command> {
  const command = await loadCommand(program, name).catch(refuseIncomplete);
  if (command) return command;
  const { other } = program;
  if (other.commands.includes(name)) throw errors.commandElsewhere(name, other.name);
  const names = Object.keys(program.commands);
  throw errors.unknownCommand(name, names, similar(name, [...names, ...other.commands]));
}

/** A package is missing in a clone where only the bundle was copied to. */
function refuseIncomplete(error: NodeJS.ErrnoException): never {
  const [, missing] = /^Cannot find package '([^']+)'/.exec(error.message) ?? [];
  if (error.code !== "ERR_MODULE_NOT_FOUND" || missing === undefined) throw error;
  throw errors.packageMissing(packageRoot(), missing);
}
