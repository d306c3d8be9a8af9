// Documents: every link leads somewhere, and every page under docs can be reached from its folder's index.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

const pages = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
  { encoding: "utf8" },
)
  .split("\n")
  .filter((path) => path !== "" && existsSync(path));

const withoutCode = (text: string): string =>
  text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, (code) => "x".repeat(code.length));

/** Targets of [text](target) and ![text](target). */
const linksOf = (page: string): string[] =>
  [...withoutCode(readFileSync(page, "utf8")).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** As GitHub makes them of headings. */
function anchorsOf(page: string): Set<string> {
  const text = readFileSync(page, "utf8").replace(/^```[\s\S]*?^```/gm, "");
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
  return new Set(headings);
}

const targetOf = (page: string, link: string): string =>
  normalize(join(dirname(page), link.split("#")[0] ?? ""));

const broken = (page: string): string[] =>
  linksOf(page).filter((link) => {
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : targetOf(page, link);
    if (!existsSync(target)) return true;
    return anchor !== undefined && target.endsWith(".md") && !anchorsOf(target).has(anchor);
  });

test.each(pages)("the links of %s lead to a file and a heading", (page) => {
  expect(broken(page)).toEqual([]);
});

/** Lines that could be broken: no code, tables, headings or HTML. Code within a line and targets of links are one word. */
const proseLines = (page: string): string[] =>
  readFileSync(page, "utf8")
    .replace(/^\s*```[\s\S]*?^\s*```/gm, "")
    .replace(/<!-- table[\s\S]*?<!-- end/g, "")
    .split("\n")
    .filter((line) => !/^\s*(\||<|#|!\[)/.test(line));

const canBeBroken = (line: string): boolean =>
  line
    .replace(/`[^`]*`|\]\([^)]*\)/g, "x")
    .replace(/^\s*([-*+]|\d+\.)?\s*/, "")
    .includes(" ");

test.each(pages)("%s has no line of prose above 120 columns", (page) => {
  const long = proseLines(page).filter((line) => line.length > 120 && canBeBroken(line));
  expect(long).toEqual([]);
});

test.each(["guide", "results", "design"])(
  "the index of docs/%s, or of a folder in it, names each of its pages",
  (part) => {
    const index = `docs/${part}/README.md`;
    const targets = (page: string) => linksOf(page).map((link) => targetOf(page, link));
    const inner = targets(index).filter((page) => page.endsWith("/README.md"));
    const named = new Set([index, ...inner].flatMap(targets));
    const own = pages.filter((page) => page.startsWith(`docs/${part}/`) && page !== index);
    expect(own.filter((page) => !named.has(page))).toEqual([]);
  },
);

const results = pages.filter(
  (page) => page.startsWith("docs/results/") && page !== "docs/results/README.md",
);

test.each(results)("%s says what was asked, on what, and how to repeat it", (page) => {
  const text = readFileSync(page, "utf8");
  const at = ["**Question.**", "**Setting.**", "**Repeat.**"].map((part) => text.indexOf(part));
  expect(at[0]).toBeGreaterThan(0);
  expect(at[1]).toBeGreaterThan(at[0] ?? 0);
  expect(at[2]).toBeGreaterThan(at[1] ?? 0);
});

test("the README is a landing page: 110 lines at most", () => {
  expect(readFileSync("README.md", "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(110);
});

test.each(pages.filter((page) => /^docs\/design\/decisions\/\d/.test(page)))(
  "%s is a decision, no diary: 100 lines at most",
  (page) => {
    expect(readFileSync(page, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(100);
  },
);
