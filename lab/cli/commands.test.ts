import { expect, test } from "vitest";
import {
  checkCommandLine,
  commandsOf,
  cotenant,
  help,
  laboratoryCommands,
  laboratoryPolicies,
} from "#cli";
import { comparedPolicies } from "#policies";
import { laboratory } from "./commands.ts";

const commands = await commandsOf(laboratory);
const names = Object.keys(laboratory.commands);

test("cotenant forwards each command that it has not itself, and no other", () => {
  const own = names.filter((name) => !Object.hasOwn(cotenant.commands, name));
  expect(laboratoryCommands.toSorted()).toEqual(own.toSorted());
});

test("cotenant says of each policy that it has not where it is", () => {
  expect(laboratoryPolicies).toEqual(comparedPolicies.map(({ name }) => name));
});

test("commands have the names of the table", () => {
  expect(commands.map(({ name }) => name)).toEqual(names);
});

test.each(commands)("help of $name says how it is used", (command) => {
  expect(help(laboratory, command)).toContain(`Usage: cotenant-lab ${command.name}`);
});

test.each(commands)("examples of $name can be typed as they stand", async ({ examples = [] }) => {
  for (const example of examples) {
    const [program, ...words] = example.replaceAll(" \\\n ", "").split(/ +/);
    expect(program, example).toBe("cotenant-lab");
    await expect(checkCommandLine(laboratory, words), example).resolves.toBeUndefined();
  }
});

test("an agent of the laboratory runs the policies that only replicate", async () => {
  const line = (...words: string[]) => checkCommandLine(laboratory, ["up", ...words]);
  await expect(line("--policy", "tgs")).resolves.toBeUndefined();
  await expect(line("--policy", "fair")).rejects.toThrow('"fair" is not one of cotenant, strict');
});
