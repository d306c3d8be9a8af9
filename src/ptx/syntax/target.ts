import type { Item, Module } from "./syntax.ts";

export interface Target {
  /** Such as "sm_90a"; "" if the module does not say. */
  readonly name: string;
  readonly sm: number;
  /** 8.7 is 807, so that 8.10 is later. */
  readonly version: number;
}

export const targetOf = (module: Module): Target => module.analyses.of(module.items, findTarget);

function findTarget(items: readonly Item[]): Target {
  let name = "";
  let version = 0;
  for (const item of items) {
    if (item.kind !== "verbatim") continue;
    if (item.word === ".target")
      name = item.text.slice(item.word.length).split(",")[0]?.trim() ?? "";
    if (item.word === ".version") {
      const [major = 0, minor = 0] = item.text.slice(item.word.length).split(".").map(Number);
      version = major * 100 + minor;
    }
  }
  return { name, sm: Number(/\d+/.exec(name)?.[0] ?? 0), version };
}
