// A program of commands: `cotenant`, and the laboratory's, which is made of the same parts.
import type { Command } from "./command.ts";

/** From a command's name to what loads it. */
export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

export interface Program {
  readonly name: string;
  /** One line about the program. */
  readonly about: string;
  /** Lines below the list of commands. */
  readonly hints: readonly string[];
  readonly commands: CommandTable;
  /** Only Cotenant itself starts these, so help does not list them. */
  readonly internal: CommandTable;
  /** The other program of this package: tables of a configuration file may be its commands'. */
  readonly other: { readonly name: string; readonly commands: readonly string[] };
  /** Runs a command line of another program, if this one is; undefined otherwise. */
  forward?(argv: readonly string[]): Promise<number> | undefined;
}

/** The commands that help lists. */
export const commandsOf = ({ commands }: Program): Promise<readonly Command[]> =>
  Promise.all(Object.values(commands).map((load) => load()));

/** undefined: there is no such command. */
export async function loadCommand(
  { commands, internal }: Program,
  name: string,
): Promise<Command | undefined> {
  const table = [commands, internal].find((one) => Object.hasOwn(one, name));
  return await table?.[name]?.();
}
