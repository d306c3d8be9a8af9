import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { legality } from "../legality.ts";
import { parse } from "../parse.ts";
import type { Module } from "../syntax.ts";
import { addition, casesAnew } from "./case-file.ts";
import { preempt } from "./preempt.ts";
import { slice } from "./slice.ts";
import { unifySync } from "./unify-sync.ts";

const CLAIMED = "@%cotenant_is ret;";

/** The claim is the same in every kernel; the first case shows it. */
const withoutClaim = (text: string) =>
  text.replace(
    /^\t\.reg \.pred %cotenant_first[\s\S]*?%cotenant_go, 0;\n\t@%cotenant_is ret;$/gm,
    "\t// claim",
  );

function preemptCases(): (module: Module) => string {
  let first = true;
  return (module) => {
    const text = addition(module, preempt(module));
    if (!first) return withoutClaim(text);
    first = false;
    expect(text).toContain(CLAIMED);
    return text;
  };
}

const report = (module: Module) =>
  legality(module)
    .flatMap(({ kernel, slice: sliced, preempt: persistent }) => [
      `${kernel}: slice ${sliced.legal ? "legal" : "refused"}, preempt ${said(persistent)}`,
      ...[...new Set([...sliced.reasons, ...persistent.reasons].map(said))],
    ])
    .join("\n");

function said(one: object): string {
  if ("code" in one && "text" in one && "line" in one)
    return `  line ${one.line}, ${one.code}: ${one.text}`;
  if (!("legal" in one) || !one.legal) return "refused";
  const conditions = [
    "unified" in one && one.unified ? "unified" : "",
    "wholeWarps" in one && one.wholeWarps ? "whole warps" : "",
  ].filter((text) => text !== "");
  return conditions.length === 0 ? "legal" : `legal (${conditions.join(", ")})`;
}

test.each([
  ["slice", (module: Module) => addition(module, slice(module))],
  ["preempt", preemptCases()],
  ["unify-sync", (module: Module) => addition(module, unifySync(module))],
  ["legality", report],
])("%s", async (name, become) => {
  const file = new URL(`./${name}.cases.txt`, import.meta.url);
  await expect(casesAnew(file, become)).toMatchFileSnapshot(file.pathname);
});

test("passes come in any order, and a second time adds nothing", () => {
  const source = readFileSync(new URL("./unify-sync.cases.txt", import.meta.url), "utf8");
  const [, first = ""] = source.split(/^# .*\n/m);
  const module = parse(`.version 8.0\n.target sm_90\n${first.split("\n==>\n")[0]}`);
  const added = (all: Module) =>
    all.items.flatMap((one) => (one.kind === "function" ? [one.name] : [])).sort();
  const names = ["k", "k__cotenant_preempt", "k__cotenant_slice", "k__cotenant_unified"];
  expect(added(unifySync(preempt(slice(module))))).toEqual(names);
  expect(added(slice(preempt(unifySync(module))))).toEqual(names);
  const all = preempt(unifySync(slice(module)));
  expect(added(slice(unifySync(preempt(all))))).toEqual(names);
});
