// The fenced blocks of the guide's pages and of the README, and the command lines of Cotenant in them.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { type ParseEntry, parse } from "shell-quote";

export interface Block {
  readonly page: string;
  /** The first line's number in the page. */
  readonly at: number;
  /** The word behind the fence, such as `json`. */
  readonly language: string;
  readonly lines: readonly string[];
}

export const pages: readonly string[] = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "README.md", "docs/guide", "python"],
  { encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path.endsWith(".md") && existsSync(path));

const FENCE = /^ *```/;

export function blocksOf(page: string, text = readFileSync(page, "utf8")): readonly Block[] {
  const lines = text.split("\n");
  const fences = lines.flatMap((line, i) => (FENCE.test(line) ? [i] : []));
  return fences.flatMap((from, i) => {
    const to = fences[i + 1];
    if (i % 2 === 1 || to === undefined) return [];
    const language = lines[from]?.replace(FENCE, "").trim() ?? "";
    return [{ page, at: from + 2, language, lines: lines.slice(from + 1, to) }];
  });
}

/** Whether the language is a shell's, or none is named. */
export const isShell = ({ language }: Block): boolean =>
  ["", "sh", "bash", "console"].includes(language);

/** Commands in the page's text, written as `cotenant …` or `cotenant-lab …`. */
export function inlineCommands(text: string): readonly string[] {
  const prose = text.replace(/^ *```[\s\S]*?^ *```/gm, "");
  return [...prose.matchAll(/`(?:sudo )?(cotenant(?:-lab)? [a-z][^`]*)`/g)].map(
    ([, code = ""]) => code,
  );
}

/** The program and the arguments of each `cotenant …` in a piece of shell, also of those that another one runs. */
export function commandLinesIn(lines: readonly string[]): readonly (readonly string[])[] {
  const joined = lines.join("\n").replace(/\\\n/g, " ").split("\n");
  return joined.flatMap((line) => simpleCommands(line.replace(/^\$ /, ""))).flatMap(ofCotenant);
}

const isCotenant = (word: string): boolean => /^([^:]*\/)?cotenant(-lab)?$/.test(word);

function ofCotenant(words: readonly string[]): readonly (readonly string[])[] {
  const quoted = words.filter((word) => /\s/.test(word) && /\bcotenant(-lab)? /.test(word));
  const inside = quoted.flatMap((script) => commandLinesIn([script]));
  const at = words.findIndex(isCotenant);
  // Helm's release has the name of the command.
  if (at < 0 || words[0] === "helm") return inside;
  const own = words.slice(at + 1);
  const program = basename(words[at] ?? "");
  return [[program, ...own], ...programsIn(own).flatMap(ofCotenant), ...inside];
}

/** The programs of a command line: one, or two with `try`, each behind its own --. */
function programsIn(words: readonly string[]): readonly (readonly string[])[] {
  if (words[0] !== "try") {
    const other = words.findIndex(isCotenant);
    return other < 0 ? [] : [words.slice(other)];
  }
  const first = words.indexOf("--");
  const second = words.indexOf("--", first + 1);
  return first < 0 || second < 0 ? [] : [words.slice(first, second), words.slice(second)];
}

/** The words of each command of a line, without comments, redirections and what separates commands. */
function simpleCommands(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const entry of parse(line, (name) => `$${name}`)) {
    const word = wordOf(entry);
    if (word === undefined) commands.push([]);
    else commands.at(-1)?.push(word);
  }
  return commands.filter((words) => words.length > 0);
}

function wordOf(entry: ParseEntry): string | undefined {
  if (typeof entry === "string") return entry;
  return "pattern" in entry ? entry.pattern : undefined;
}
