// What a module says it was written for.
import type { Item, Module } from "./syntax.ts";

export interface Target {
  /** "sm_90a"; "" if it does not say. */
  readonly name: string;
  /** 90 of sm_90a. */
  readonly sm: number;
  /** 8.7 as 807, so that 8.10 comes later. */
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
