import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { legality, type Module, parse, preempt, print, slice, unifySync } from "#ptx";
import { addition, casesAnew } from "./case-file.ts";

const CLAIMED = "$cotenant_body:";

/** The claim is the same in every kernel; the first case shows it. */
const withoutClaim = (text: string) =>
  text.replace(/^\t\.reg \.pred %cotenant_first[\s\S]*?^\$cotenant_body:$/gm, "\t// claim");

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

test("a warp is together wherever a worker goes on with the next block", () => {
  const source = readFileSync(new URL("./preempt.cases.txt", import.meta.url), "utf8");
  const ways = source.match(/^.*\n.*bra \$cotenant_next;/gm) ?? [];
  expect(ways.length).toBeGreaterThan(3);
  expect(new Set(ways)).toEqual(new Set(["\tbar.warp.sync 0xffffffff;\n\tbra $cotenant_next;"]));
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

/** Its dynamic shared memory must stay at a multiple of 1,024 bytes, and so wants larger words before it. */
const TILED = `
.extern .shared .align 1024 .b8 tiles[];
.visible .entry tiled() { .reg .b32 %r<2>; mov.u32 %r1, tiles; wgmma.fence.sync.aligned; ret; }
`;
const HEAD = ".version 8.0\n.target sm_90a\n.address_size 64\n";
const PLAIN = ".visible .entry plain() { ret; }\n";

const wordsOf = (module: Module) =>
  module.items.flatMap((one) =>
    one.kind === "variable" && one.names[0]?.name === "cotenant_preempt_block"
      ? [{ bytes: one.names[0].dims[0], align: one.align }]
      : [],
  );

test("a kernel that is added later gets the shared words that it wants", () => {
  const before = preempt(parse(HEAD + PLAIN));
  expect(wordsOf(before)).toEqual([{ bytes: "64", align: 64 }]);
  const later = print(preempt(parse(print(before) + TILED)));
  expect(wordsOf(parse(later))).toEqual([{ bytes: "1024", align: 1024 }]);
  expect(later).toContain("tiled__cotenant_preempt");
  // A size that is large enough stays.
  expect(print(preempt(parse(`${later}${PLAIN.replace("plain", "last")}`)))).toContain(
    ".align 1024 .b8 cotenant_preempt_block[1024]",
  );
});

test.each([
  ".shared .align 32 .b32 cotenant_preempt_block[8];",
  ".shared .align 32 .b8 cotenant_preempt_block[4][8];",
  ".extern .shared .align 32 .b8 cotenant_preempt_block[];",
  ".global .align 32 .b8 cotenant_preempt_block[32];",
  ".func cotenant_preempt_block() { ret; }",
])("what only has the name of our words is not taken for them: %s", (other) => {
  const module = parse(`${HEAD}${other}\n${PLAIN}`);
  const [report] = legality(module);
  expect(report?.slice.legal).toBe(true);
  expect(report?.preempt.reasons.map(({ code }) => code)).toEqual(["name-taken"]);
  expect(print(preempt(module))).toBe(print(module));
});
