import type { Command } from "./command.ts";

export type CommandTable = Readonly<Record<string, () => Promise<Command>>>;

export interface Program {
  readonly name: string;
  readonly about: string;
  readonly hints: readonly string[];
  readonly commands: CommandTable;
  readonly internal: CommandTable;
  /** Tables of a configuration file may be those of its commands. */
  readonly other: { readonly name: string; readonly commands: readonly string[] };
  /** undefined: the command line is this program's own. */
  forward?(argv: readonly string[]): Promise<number> | undefined;
}

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
