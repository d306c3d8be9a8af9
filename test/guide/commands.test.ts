// Every `cotenant …` and `cotenant-lab …` in the guide's pages and the README is a command with options that exist.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkCommandLine, commandsOf, cotenant, type Program } from "#cli";
import { laboratory } from "#lab";
import { blocksOf, commandLinesIn, inlineCommands, isShell, pages } from "./blocks.ts";
import { notRun, runs } from "./runnable.ts";

const linesOf = (page: string) =>
  blocksOf(page)
    .filter(isShell)
    .flatMap(({ lines }) => commandLinesIn(lines));

test("command lines are found behind others, inside others and in quotes, and comments are none", () => {
  const found = commandLinesIn([
    "FOO=1 sudo cotenant up --gpu soft   # cotenant fly",
    "srun --export=ALL cotenant run --class high -- \\",
    "  cotenant load --rate 5 & sleep 1; cotenant down | cat",
    "ExecStartPost=/bin/sh -c 'until /opt/cotenant/bin/cotenant status; do sleep 1; done'",
    "cotenant try --no-mps -- cotenant load --rate 5 -- cotenant load --arrivals closed",
    "cotenant_active_ratio * 2",
    "cotenant-lab soc plan net.json",
    "helm install cotenant deploy/kubernetes/chart",
  ]);
  expect(found).toEqual([
    ["cotenant", "up", "--gpu", "soft"],
    ["cotenant", "run", "--class", "high", "--", "cotenant", "load", "--rate", "5"],
    ["cotenant", "load", "--rate", "5"],
    ["cotenant", "down"],
    ["cotenant", "status"],
    [
      "cotenant",
      "try",
      "--no-mps",
      "--",
      ..."cotenant load --rate 5 -- cotenant load --arrivals closed".split(" "),
    ],
    ["cotenant", "load", "--rate", "5"],
    ["cotenant", "load", "--arrivals", "closed"],
    ["cotenant-lab", "soc", "plan", "net.json"],
  ]);
});

const programs: readonly Program[] = [cotenant, laboratory];

function programNamed(wanted: string): Program {
  const found = programs.find(({ name }) => name === wanted);
  if (!found) throw new Error(`no program is called ${wanted}`);
  return found;
}

test("a command of the laboratory is none of cotenant's", async () => {
  await expect(checkCommandLine(laboratory, ["bench", "--names"])).resolves.toBeUndefined();
  await expect(checkCommandLine(cotenant, ["bench", "--names"])).rejects.toThrow();
});

test.each([
  ["fly"],
  ["up", "--gpus", "soft"],
  ["run", "--class", "low", "--", "true"],
  ["status", "now"],
])("cotenant %s %s would be refused", async (...line) => {
  await expect(checkCommandLine(cotenant, line)).rejects.toThrow();
});

test("pages have command lines", () => {
  expect(pages.length).toBeGreaterThan(15);
  expect(pages.flatMap(linesOf).length).toBeGreaterThan(50);
});

const commands = new Map(
  await Promise.all(
    programs.map(async (program) => [program.name, await commandsOf(program)] as const),
  ),
);

describe.each(pages)("%s", (page) => {
  test("the commands in its blocks can be given as they stand", async () => {
    const said = linesOf(page).map(([program = "", ...line]) =>
      checkCommandLine(programNamed(program), line).then(
        () => undefined,
        (error) =>
          `${program} ${line.join(" ")}: ${error instanceof Error ? error.message : error}`,
      ),
    );
    expect((await Promise.all(said)).filter(Boolean)).toEqual([]);
  });

  test("the commands and options in its text exist", () => {
    const wrong = inlineCommands(readFileSync(page, "utf8")).filter((code) => {
      const [program = "", name, ...rest] = (code.split(" -- ")[0] ?? "").split(/[\s[\]|]+/);
      const command = commands.get(program)?.find((known) => known.name === name);
      const given = rest.flatMap((word) => /^--([a-z][a-z-]*)/.exec(word)?.[1] ?? []);
      return !command || !given.every((option) => option in { ...command.options, help: 1 });
    });
    expect(wrong).toEqual([]);
  });
});

const listed = (table: Readonly<Record<string, Readonly<Record<string, unknown>>>>) =>
  Object.entries(table).flatMap(([page, blocks]) =>
    Object.keys(blocks).map((line) => `${page}: ${line}`),
  );

test("each block of shell is either run by examples.slow.test.ts, or runnable.ts says why not", () => {
  const known = [...listed(runs), ...listed(notRun)];
  const blocks = pages.flatMap((page) =>
    blocksOf(page)
      .filter(isShell)
      .map(({ lines: [first = ""] }) => `${page}: ${first}`),
  );
  expect(known.toSorted()).toEqual(blocks.toSorted());
});

test.each(
  pages.filter((page) => /^docs\/guide\/[\w-]+\.md$/.test(page) && !page.endsWith("README.md")),
)("%s begins with commands, before its first section", (page) => {
  const [start = ""] = readFileSync(page, "utf8").split("\n## ");
  expect(start).toMatch(/^```\n/m);
});
