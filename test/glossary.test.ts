// The glossary's words are the only names of their things in documents, help texts and public headers.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { commands, help } from "#cli";

const GLOSSARY = "docs/design/glossary.md";

/** Each word that is not used → the word that is; from the table rows | word | meaning | not |. */
function forbidden(): Map<string, string> {
  const rows = [...readFileSync(GLOSSARY, "utf8").matchAll(/^\| (.+?) \| (.+?) \| (.*?) ?\|$/gm)];
  return new Map(
    rows
      .filter(([, word]) => word !== "word" && word !== "---")
      .flatMap(([, word = "", , not = ""]) =>
        not
          .split(", ")
          .map((other) => other.trim())
          .filter((other) => other !== "")
          .map((other) => [other, word] as const),
      ),
  );
}

const notUsed = forbidden();

/** What a reader reads: no code, no link targets, no comments of HTML; a phrase may be broken over lines. */
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

describe("help", () => {
  const listed = commands.filter(({ internal }) => !internal);
  test.each(listed.map((command) => [command.name, command] as const))(
    "of %s uses the glossary's words",
    (_, command) => {
      expect(misnamed(proseOf(help(command, 80)))).toEqual([]);
    },
  );
});
