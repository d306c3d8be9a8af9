import { describe, expect, test } from "vitest";
import { errorOf } from "../../../test/cli/person.ts";
import { cotenant } from "../commands.ts";
import { commandNames } from "../names/names.ts";
import {
  bytes,
  type Command,
  choice,
  command,
  duration,
  flag,
  list,
  number,
  renamed,
  text,
} from "./command.ts";
import { help, overview, parse, separateCommand } from "./parse.ts";
import { commandsOf } from "./program.ts";

const forPeople = await commandsOf(cotenant);
const commands = [
  ...forPeople,
  ...(await commandsOf({ ...cotenant, commands: cotenant.internal })),
];

const sample = command({
  name: "sample",
  summary: "what the tests parse",
  options: {
    class: choice(["high", "best-effort"], undefined, "the class"),
    name: text("NAME", "nobody", "the name"),
    count: number("N", 3, "how many", { min: 1, max: 9, whole: true }),
    memory: bytes("BYTES", undefined, "how much"),
    wait: duration("TIME", undefined, "how long"),
    set: list("KEY=VALUE", "what else"),
    "dry-run": flag("do nothing"),
  },
  positional: { name: "FILE…", doc: "what to do it to", atLeast: 1 },
  run: async () => 0,
});

const nothingGiven = {
  class: undefined,
  name: "nobody",
  count: 3,
  memory: undefined,
  wait: undefined,
  set: [],
  "dry-run": false,
};

describe("the former name of an option", () => {
  const renamedSample: Command = {
    ...sample,
    options: { ...sample.options, "max-count": renamed("most-count", number("N", 3, "how many")) },
  };

  test.each([["--most-count", "4"], ["--most-count=4"]])("works, with a note: %s", (...argv) => {
    const notes: string[] = [];
    const values = parse(renamedSample, [...argv, "a"], undefined, (note) => notes.push(note));
    expect(values).toMatchObject({ "max-count": 4, positional: ["a"] });
    expect(notes).toEqual([
      "--most-count is called --max-count now. The former name works in this version only.",
    ]);
  });

  test("is not in the help", () => {
    expect(help(cotenant, renamedSample)).toContain("--max-count N");
    expect(help(cotenant, renamedSample)).not.toContain("most-count");
  });
});

describe("parsing", () => {
  test.each([
    { argv: ["a"], is: { positional: ["a"] } },
    { argv: ["--count", "4", "a"], is: { count: 4, positional: ["a"] } },
    { argv: ["--count=4", "a", "--dry-run"], is: { count: 4, "dry-run": true, positional: ["a"] } },
    { argv: ["--class", "high", "--", "a"], is: { class: "high", positional: ["a"] } },
    { argv: ["--memory", "2GiB", "a"], is: { memory: 2 ** 31, positional: ["a"] } },
    ...["20g", "20G", "20Gi", "20GiB", "20gib", "20 GiB"].map((size) => ({
      argv: ["--memory", size, "a"],
      is: { memory: 20 * 2 ** 30, positional: ["a"] },
    })),
    { argv: ["--memory", "20GB", "a"], is: { memory: 20e9, positional: ["a"] } },
    { argv: ["--memory", "1.5k", "a"], is: { memory: 1536, positional: ["a"] } },
    { argv: ["--memory", "4096", "a"], is: { memory: 4096, positional: ["a"] } },
    { argv: ["--wait", "10ms", "a"], is: { wait: 10_000, positional: ["a"] } },
    { argv: ["--set", "a=1", "--set", "b=2", "a"], is: { set: ["a=1", "b=2"], positional: ["a"] } },
    { argv: ["--count", "4", "--count", "5", "a"], is: { count: 5, positional: ["a"] } },
    { argv: ["--name=--odd", "a"], is: { name: "--odd", positional: ["a"] } },
    { argv: ["--dry-run", "--no-dry-run", "a"], is: { positional: ["a"] } },
    {
      argv: ["--", "sh", "-c", "exit 3", "--count", "x"],
      is: { positional: ["sh", "-c", "exit 3", "--count", "x"] },
    },
  ])("$argv", ({ argv, is }) => {
    expect(parse(sample, argv)).toEqual({ ...nothingGiven, ...is });
  });
});

describe('behind the first word of a command to run, options are its own, as behind "--"', () => {
  const runs = {
    ...sample,
    positional: { ...sample.positional, endsOptions: (w: string) => w !== "list" },
  };
  test.each([
    { given: "--count 4 serve.py --count x --help", is: "--count 4 -- serve.py --count x --help" },
    { given: "--dry-run serve.py -c 1", is: "--dry-run -- serve.py -c 1" },
    { given: "--count=4 serve.py -- -c", is: "--count=4 -- serve.py -- -c" },
    { given: "--count 4 -- serve.py --help", is: "--count 4 -- serve.py --help" },
    { given: "list --count 4", is: "list --count 4" },
    { given: "--count 4 --help", is: "--count 4 --help" },
  ])("$given", ({ given, is }) => {
    expect(separateCommand(runs as Command, given.split(" ")).join(" ")).toBe(is);
    expect(separateCommand(sample, given.split(" ")).join(" ")).toBe(given);
  });

  test.each(["run", "profile"])("%s", (name) => {
    const command = commands.find((one) => one.name === name) as Command;
    const given = separateCommand(command, ["--name", "x", "python", "train.py", "--name", "y"]);
    expect(parse(command, given)).toMatchObject({
      name: "x",
      positional: ["python", "train.py", "--name", "y"],
    });
  });
});

/** Every way to use a command wrongly: exit status 2, one line. */
describe("wrong use", () => {
  test.each([
    {
      argv: ["--cuont", "4"],
      says: '"sample" has no option --cuont. Did you mean --count? "cotenant sample --help" lists them.',
    },
    { argv: ["-c", "4"], says: '"sample" has no option -c. "cotenant sample --help" lists them.' },
    { argv: ["--count"], says: "--count needs a value: --count N." },
    { argv: ["--name", "--dry-run"], says: "--name needs a value: --name NAME." },
    { argv: ["--dry-run=yes", "a"], says: "--dry-run takes no value." },
    {
      argv: ["--no-count", "a"],
      says: '"sample" has no option --no-count. "cotenant sample --help" lists them.',
    },
    { argv: ["--count", "ten"], says: '--count: "ten" is not a whole number from 1 to 9.' },
    { argv: ["--count", "0"], says: '--count: "0" is not a whole number from 1 to 9.' },
    { argv: ["--count", "1.5"], says: '--count: "1.5" is not a whole number from 1 to 9.' },
    { argv: ["--count="], says: '--count: "" is not a whole number from 1 to 9.' },
    { argv: ["--class", "low"], says: '--class: "low" is not one of high, best-effort.' },
    { argv: ["--memory", "lots"], says: '--memory: "lots" is not a size such as 512MiB or 20GiB.' },
    { argv: ["--memory", "4i"], says: '--memory: "4i" is not a size such as 512MiB or 20GiB.' },
    {
      argv: ["--memory", "99999999999GiB"],
      says: '--memory: "99999999999GiB" is not a size such as 512MiB or 20GiB.',
    },
    {
      argv: ["--wait", "10"],
      says: '--wait: "10" is not a time such as 200us, 10ms, 2s, 3min or 1h.',
    },
    { argv: [], says: '"sample" needs FILE…. "cotenant sample --help" shows its use.' },
  ])("$argv", ({ argv, says }) => {
    const error = errorOf(() => parse(sample, argv));
    expect([error.message, error.hint].filter(Boolean).join(" ")).toBe(says);
    expect(error.exitStatus).toBe(2);
  });

  test("an argument that nobody asked for", () => {
    const error = errorOf(() => parse({ ...sample, positional: undefined as never }, ["a"]));
    expect(error.message).toBe('"sample" does not know what to do with "a".');
  });
});

describe("help", () => {
  test("is made from the options table", () => {
    expect(help(cotenant, sample)).toMatchInlineSnapshot(`
      "cotenant sample: what the tests parse

      Usage: cotenant sample [options] FILE…
        what to do it to

        --class high|best-effort  the class
        --name NAME               the name (default: nobody)
        --count N                 how many (default: 3)
        --memory BYTES            how much
        --wait TIME               how long
        --set KEY=VALUE           what else (repeatable)
        --dry-run                 do nothing
        --help                    show this"
    `);
  });

  test("keeps to the terminal's columns, and to 100", () => {
    for (const columns of [60, 80, 200])
      for (const known of commands) {
        const widths = help(cotenant, known, columns)
          .split("\n")
          .filter((line) => /\S \S/.test(line.trim()))
          .map((line) => line.length);
        expect(Math.max(...widths), known.name).toBeLessThanOrEqual(Math.min(columns, 100));
      }
  });

  test("lists every command that is for people once, in the order of the table", () => {
    const listed = overview(cotenant, forPeople)
      .match(/^ {2}[a-z-]+/gm)
      ?.map((line) => line.trim());
    expect(listed).toEqual(forPeople.map(({ name }) => name));
    expect(new Set(listed).size).toBe(forPeople.length);
    expect(forPeople.map(({ name }) => name)).toEqual(commandNames);
  });

  test("gives examples that can be typed as they stand", () => {
    for (const known of commands)
      for (const example of known.examples ?? []) {
        const [program, name, ...rest] = example.replaceAll(" \\\n ", "").split(/ +/);
        const itself = commands.find((command) => command.name === name);
        expect(program, example).toBe("cotenant");
        if (!itself) throw new Error(`no command: ${example}`);
        expect(() => parse(itself, separateCommand(itself, rest)), example).not.toThrow();
      }
  });

  test("can be had for every command", () => {
    for (const known of commands)
      expect(help(cotenant, known)).toContain(`Usage: cotenant ${known.name}`);
  });
});
