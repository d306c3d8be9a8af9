// Files of cases: a name, PTX, and what becomes of it. The expected parts are rewritten by `vitest --update` and
// read as a diff:
//
//   # name of the case
//   .visible .entry k() { ret; }
//   ==>
//   what the pass makes
import { readFileSync } from "node:fs";
import { type Module, parse, print } from "#ptx";

/** Before a case that does not say what it is for. */
const HEADER = ".version 8.0\n.target sm_90\n.address_size 64\n";

const ARROW = "\n==>\n";

/** The file with each case's expected part made again. */
export function casesAnew(file: URL, become: (module: Module) => string): string {
  const [before = "", ...cases] = readFileSync(file, "utf8").split(/^# /m);
  return [before, ...cases.map((one) => anew(one, become))].join("# ");
}

function anew(text: string, become: (module: Module) => string): string {
  const name = text.slice(0, text.indexOf("\n"));
  const input = text.slice(name.length + 1).split(ARROW)[0] ?? "";
  const source = input.includes(".version") ? input : HEADER + input;
  return `${name}\n${input.trimEnd()}${ARROW}${become(parse(source)).trim()}\n\n`;
}

/** The text that a pass has added to a module. */
export function addition(before: Module, after: Module): string {
  const items = after.items.filter((one) => !before.items.includes(one));
  if (items.length === 0) return "nothing";
  return print({ ...after, items });
}
