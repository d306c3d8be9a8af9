// The commands of `cotenant-lab`, which is part of the same package, as far as `cotenant` knows them: their names, for people who
// ask this program for them.
import { writeSync } from "node:fs";
import { laboratoryProgram } from "#core";
import { laboratoryCommands } from "./names/names.ts";

/** The words for `cotenant-lab` of a command line for `cotenant`; undefined for one that is its own. */
function laboratoryWords(argv: readonly string[]): readonly string[] | undefined {
  const [name = "", verb] = argv;
  if (laboratoryCommands.includes(name)) return argv;
  return name === "cluster" && verb === "simulate" ? argv.slice(1) : undefined;
}

/** Becomes `cotenant-lab` if the words are its; one line on stderr names the command to give from now on. */
export function forwardToLaboratory(argv: readonly string[]): Promise<number> | undefined {
  const words = laboratoryWords(argv);
  if (words === undefined) return undefined;
  const before = argv.slice(0, argv.length - words.length + 1).join(" ");
  // Not by console.error: `become` needs a process that has not used its streams.
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
