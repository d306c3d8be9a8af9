// The glossary's words are the only names of their things in documents, help texts and public headers.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { commandsOf, cotenant, help } from "#cli";
import { laboratory } from "#lab";

const GLOSSARY = "docs/design/glossary.md";

const [inProse = "", inCode = ""] = readFileSync(GLOSSARY, "utf8").split("\n## In code\n");

/** Each word that is not used → the word that is; from the table rows | word | meaning | not |. */
function forbidden(tables: string): Map<string, string> {
  const rows = [...tables.matchAll(/^\| (.+?) \| (.+?) \| (.*?) ?\|$/gm)];
  return new Map(
    rows
      .filter(([, word = ""]) => !["word", "in code", "---"].includes(word))
      .flatMap(([, word = "", , not = ""]) =>
        not
          .split(", ")
          .map((other) => other.trim())
          .filter((other) => other !== "")
          .map((other) => [other, word] as const),
      ),
  );
}

const notUsed = forbidden(inProse);
const notInCode = forbidden(inCode);

/** The prose of a page: no code, no link targets, no comments of HTML; a phrase may be broken over lines. */
const proseOf = (page: string): string =>
  page
    .replace(/^```[\s\S]*?^```/gm, " ")
    .replace(/<!--[\s\S]*?-->/g, " ")
    .replace(/`[^`]*`/g, "`")
    .replace(/\]\([^)]*\)/g, "]")
    .replace(/\s+/g, " ");

const literal = (word: string): string => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function misnamed(prose: string): string[] {
  return [...notUsed].flatMap(([other, word]) => {
    const at = prose.search(new RegExp(`(?<![\\w-])${literal(other)}(?![\\w-])`, "i"));
    return at < 0
      ? []
      : [`"${other}" (use "${word}"): …${prose.slice(Math.max(0, at - 40), at + 60)}…`];
  });
}

const pages = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "*.md", "native/include/*.h"],
  { encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path !== "" && path !== GLOSSARY && existsSync(path));

const codeRooms = [...inCode.matchAll(/`((?:src|lab)\/[a-z/-]+)`/g)].map(([, room = ""]) => room);
const sources = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", ...codeRooms],
  { encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path.endsWith(".ts") && existsSync(path));

const COMMENT = /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/;
const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/;
const PROSE = new RegExp(`${COMMENT.source}|${STRING.source}`, "g");

/** Identifiers of TypeScript, a file's path first. Of comments and strings only what is between ${ and }. */
const identifiersOf = (path: string, source: string): string[] => [
  path,
  ...(source
    .replace(PROSE, (prose) => prose.match(/\$\{[^}]*\}/g)?.join(" ") ?? " ")
    .match(/[A-Za-z_$][\w$]*/g) ?? []),
];

/** companyAtMs → company, at, ms. */
const partsOf = (identifier: string): string[] =>
  identifier.split(/(?<=[a-z\d])(?=[A-Z])|[^A-Za-z]+/).map((part) => part.toLowerCase());

const misnamedIn = (path: string, source: string): string[] => [
  ...new Set(
    identifiersOf(path, source).flatMap((identifier) =>
      partsOf(identifier)
        .filter((part) => notInCode.has(part))
        .map((part) => `${identifier} (use "${notInCode.get(part)}" instead of "${part}")`),
    ),
  ),
];

test("the glossary names words that are not used", () => {
  expect(notUsed.get("rival")).toBe("baseline");
});

test("a word that is not used is found, also over a line's end, but not in code", () => {
  expect(misnamed(proseOf("the chunk\nboundary"))).toHaveLength(1);
  expect(misnamed(proseOf("`rival` and [text](rivals.md)"))).toEqual([]);
});

test.each(pages)("%s uses the glossary's words", (page) => {
  expect(misnamed(proseOf(readFileSync(page, "utf8")))).toEqual([]);
});

describe.each([cotenant, laboratory])("help of $name", async (program) => {
  test.each((await commandsOf(program)).map((command) => [command.name, command] as const))(
    "%s uses the glossary's words",
    (_, command) => {
      expect(misnamed(proseOf(help(program, command, 80)))).toEqual([]);
    },
  );
});

describe("identifiers in code", () => {
  test("a word that is not used is found as a part of a name, but not in strings and comments", () => {
    expect(codeRooms).toContain("src/policy");
    expect(sources.length).toBeGreaterThan(100);
    expect(misnamedIn("a.ts", "const companyAtMs = 1;")).toHaveLength(1);
    expect(misnamedIn("soc/rivals.ts", "")).toHaveLength(1);
    expect(misnamedIn("a.ts", ["say(`a rung of $", "{looked(at)}`)"].join(""))).toHaveLength(1);
    expect(misnamedIn("a.ts", 'const arrivals = "company"; // company /* rung */')).toEqual([]);
  });

  test("of the rooms that the glossary lists are its words", () => {
    const found = sources.flatMap((path) =>
      misnamedIn(path, readFileSync(path, "utf8")).map((name) => `${path}: ${name}`),
    );
    expect(found).toEqual([]);
  });
});
