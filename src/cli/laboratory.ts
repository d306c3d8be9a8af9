// `cotenant-lab` is part of the same package; people may ask this program for its commands.
import { writeSync } from "node:fs";
import { laboratoryProgram } from "#core";
import { laboratoryCommands } from "./names/names.ts";

/** It is undefined for a command line of its own. */
function laboratoryWords(argv: readonly string[]): readonly string[] | undefined {
  const [name = "", verb] = argv;
  if (laboratoryCommands.includes(name)) return argv;
  return name === "cluster" && verb === "simulate" ? argv.slice(1) : undefined;
}

/** One line on stderr names the command to give from now on. */
export function forwardToLaboratory(argv: readonly string[]): Promise<number> | undefined {
  const words = laboratoryWords(argv);
  if (words === undefined) return undefined;
  const before = argv.slice(0, argv.length - words.length + 1).join(" ");
  // `become` needs a process that has not used its streams, as console.error does.
  writeSync(
    2,
    `cotenant: "${before}" is a command of cotenant-lab now: cotenant-lab ${words[0]} …\n`,
  );
  return becomeLaboratory(words);
}

async function becomeLaboratory(words: readonly string[]): Promise<number> {
  const { become } = await import("#client");
  const { command, args } = laboratoryProgram();
  return await become(command, [...args, ...words], process.env);
}
