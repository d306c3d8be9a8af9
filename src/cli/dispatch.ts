import { errors, packageVersion } from "#core";
import { commands } from "./commands.ts";
import { configFiles, readConfig } from "./config.ts";
import { help, overview, parse, separateCommand } from "./parse.ts";
import { similar } from "./similar.ts";

/** Finds the command and runs it with its options; resolves to the exit status. */
export async function dispatch(argv: readonly string[]): Promise<number> {
  const [name, ...rest] = argv;
  const listed = commands.filter(({ internal }) => !internal);
  if (name === "help" && rest[0] !== undefined) return await dispatch([rest[0], "--help"]);
  if (name === undefined || name === "help" || asksForHelp([name])) {
    console.log(overview(listed));
    return name === undefined ? 2 : 0;
  }
  if (name === "--version" || name === "-v") {
    console.log(packageVersion());
    return 0;
  }
  const command = commands.find((known) => known.name === name);
  if (!command) {
    const known = listed.map((one) => one.name);
    throw errors.unknownCommand(name, known, similar(name, known));
  }
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

/** Words after "--" belong to the command that is run. */
function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const own = end < 0 ? argv : argv.slice(0, end);
  return own.includes("--help") || own.includes("-h");
}
