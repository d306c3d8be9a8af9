import type { Func, Item, Module } from "../syntax/syntax.ts";
import { sharedWords, sharedWordsIn } from "./template.ts";

export interface Variants {
  readonly kernel: Func;
  readonly items: readonly Item[];
  /** The largest of equal names is declared, aligned to its size. */
  readonly shared: readonly { readonly name: string; readonly bytes: number }[];
}

export function withVariants(module: Module, all: readonly Variants[]): Module {
  const sizes = new Map<string, number>();
  for (const { shared } of all)
    for (const { name, bytes } of shared) sizes.set(name, Math.max(sizes.get(name) ?? 0, bytes));
  const before = module.items.map((item) => enlarge(item, sizes));
  const words = [...sizes].map(([name, bytes]) => sharedWords(name, bytes, bytes));
  const behind = new Map(all.map(({ kernel, items }) => [kernel, items]));
  const items: Item[] = [];
  const first = module.items.findIndex((one) => one.kind === "function");
  const have = new Set(module.items.flatMap((one) => (one.kind === "function" ? [key(one)] : [])));
  before.forEach((item, i) => {
    if (i === first) items.push(...words);
    items.push(item);
    const made = (item.kind === "function" && behind.get(item)) || [];
    for (const one of made) {
      // Two kernels may call the same device function: it is copied and declared once.
      if (one.kind === "function" && have.has(key(one))) continue;
      if (one.kind === "function") have.add(key(one));
      items.push(one);
    }
  });
  return { ...module, items };
}

function enlarge(item: Item, sizes: Map<string, number>): Item {
  const words = item.kind === "variable" ? sharedWordsIn(item) : undefined;
  const wanted = words && sizes.get(words.name);
  if (words === undefined || wanted === undefined) return item;
  sizes.delete(words.name);
  if (wanted <= words.bytes && wanted <= words.align) return item;
  return sharedWords(words.name, Math.max(wanted, words.bytes), Math.max(wanted, words.align));
}

const key = ({ name, body }: Func) => `${name} ${body === undefined}`;
