import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { expect, onTestFinished, test, vi } from "vitest";
import { errorOf } from "../../../test/cli/person.ts";
import {
  bytes,
  type Command,
  choice,
  command,
  flag,
  list,
  number,
  renamed,
  text,
} from "./command.ts";
import { configFiles, readConfig } from "./config.ts";
import { parse } from "./parse.ts";

const sample: Command = command({
  name: "sample",
  summary: "what the tests configure",
  options: {
    class: choice(["high", "best-effort"], undefined, "the class"),
    name: text("NAME", "nobody", "the name"),
    count: number("N", 3, "how many", { min: 1, max: 9, whole: true }),
    memory: bytes("BYTES", undefined, "how much"),
    set: list("KEY=VALUE", "what else"),
    "dry-run": flag("do nothing"),
    report: renamed("tell", flag("say it")),
  },
  run: async () => 0,
});

function folder(): string {
  const path = mkdtempSync(`${tmpdir()}/cotenant-config-`);
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

function files(...contents: readonly string[]): readonly string[] {
  const at = folder();
  return contents.map((content, i) => {
    writeFileSync(`${at}/${i}.toml`, content);
    return `${at}/${i}.toml`;
  });
}

const parsed = (argv: readonly string[], ...contents: readonly string[]) =>
  parse(sample, argv, readConfig(sample, ["sample", "other"], files(...contents)));

test("a table may have the former name of an option", () => {
  const notes: string[] = [];
  const [file = ""] = files("[sample]\ntell = true");
  const values = readConfig(sample, ["sample"], [file], (note) => notes.push(note));
  expect([...values]).toEqual([["report", true]]);
  expect(notes).toEqual([
    `${file}: tell is called report now. The former name works in this version only.`,
  ]);
});

test("options come from the table of the command, with the types of TOML", () => {
  const content = `
    [sample]
    class = "high"
    count = 4
    memory = "2g"
    set = ["a=1", "b=2"]
    dry-run = true
    [other]
    name = "of another command"`;
  expect(parsed([], content)).toEqual({
    class: "high",
    name: "nobody",
    count: 4,
    memory: 2 ** 31,
    set: ["a=1", "b=2"],
    "dry-run": true,
    report: false,
    positional: [],
  });
});

test("a later file counts more than an earlier one, and the command line more than both", () => {
  const machine = '[sample]\nname = "machine"\ncount = 4\ndry-run = true\nset = ["a=1"]';
  const user = '[sample]\nname = "user"';
  expect(parsed([], machine, user)).toMatchObject({ name: "user", count: 4, "dry-run": true });
  expect(
    parsed(["--name", "me", "--count", "5", "--no-dry-run", "--set", "c=3"], machine, user),
  ).toMatchObject({ name: "me", count: 5, "dry-run": false, set: ["c=3"] });
});

test.each([
  {
    content: "[sample]\nclas = 1",
    says: 'sample.clas: does not belong there. Known: class, name, count, memory, set, dry-run, report. Did you mean "class"?',
  },
  { content: "[smaple]\n", says: "smaple: does not belong there. Known: sample, other." },
  { content: 'name = "x"', says: "name: does not belong there." },
  { content: "sample = 3", says: "sample: is 3, not an object." },
  { content: '[sample]\nclass = "low"', says: 'sample.class: "low" is not one of high' },
  { content: "[sample]\ncount = 4.5", says: 'sample.count: "4.5" is not a whole number from 1' },
  { content: '[sample]\ndry-run = "yes"', says: 'sample.dry-run: is "yes", not true or false.' },
  { content: '[sample]\nset = "a=1"', says: 'sample.set: is "a=1", not a list.' },
  { content: "[sample]\ncount =", says: "line 2: Invalid TOML document" },
])("$content is refused with the file and the key", ({ content, says }) => {
  const [file = ""] = files(content);
  const error = errorOf(() => readConfig(sample, ["sample", "other"], [file]));
  expect([error.message, error.hint].join(" ")).toContain(`${file}, ${says}`);
  expect([error.exitStatus, error.message.includes("\n")]).toEqual([2, false]);
});

test("the user's file is found in the home folder; COTENANT_CONFIG names another one, or none", () => {
  const home = folder();
  vi.stubEnv("HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
  const file = `${home}/.config/cotenant/config.toml`;
  expect(configFiles({})).not.toContain(file);
  mkdirSync(`${home}/.config/cotenant`, { recursive: true });
  writeFileSync(file, "");
  expect(configFiles({})).toContain(file);
  expect(configFiles({ COTENANT_CONFIG: "/a.toml" })).toEqual(["/a.toml"]);
  expect(configFiles({ COTENANT_CONFIG: "" })).toEqual([]);
});
