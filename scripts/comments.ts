// Refuses comments that are fragments: they complete the identifier below, or begin with a clause as their subject.
// Usage: npx tsx scripts/comments.ts [FILE…]; without files, the whole tree. Prints FILE:LINE and fails if there are any.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

const sources =
  /(\.(ts|mts|mjs|cpp|h|cu|def|py|sh|mk|yaml|yml|toml|service|supp)|Makefile|scripts\/\w+)$/;
const comment = /^\s*(\/\/|\/\*\*?|\*|#+(?=\s|$)|""")\s*(.*)$/;
const fragment = /^(Of|So many|So long|So much|Who|Whom|That|What|With those|By which)\b/;

/** Numbers of the lines on which such a comment begins; also its later paragraphs. */
export function fragmentsIn(text: string): readonly number[] {
  let before = "";
  return text.split("\n").flatMap((line, at) => {
    const [, , words] = comment.exec(line) ?? [];
    const isStart = words !== undefined && before === "";
    before = words ?? "";
    return isStart && fragment.test(words) ? [at + 1] : [];
  });
}

if (process.argv[1] === import.meta.filename) {
  const named = process.argv.slice(2);
  const files =
    named.length > 0 ? named : execFileSync("git", ["ls-files"], { encoding: "utf8" }).split("\n");
  for (const file of files.filter((one) => sources.test(one)))
    for (const line of fragmentsIn(readFileSync(file, "utf8"))) {
      console.error(
        `${file}:${line}: this comment is a fragment: give it a subject and a verb, or name the thing ("Limit of …").`,
      );
      process.exitCode = 1;
    }
}
