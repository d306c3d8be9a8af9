import { closeSync } from "node:fs";
import { endWithParent } from "../system/index.ts";
import { type Made, makeVariants } from "./make-variants.ts";
import { keyOf, Refusals } from "./refusals.ts";
import { openVariantStore, type VariantStore } from "./store.ts";

export type VariantMessage =
  | { readonly path: string }
  /** The agent has opened this descriptor of an answer. */
  | { readonly close: number }
  | { readonly refuse: string; readonly reason: string };

export type Answer =
  | "ready"
  /** The agent remembers this request where it has to end this process. */
  | { readonly begun: string }
  | Made;

export function serveVariants(directory: string): Promise<void> {
  endWithParent();
  const tell = (answer: Answer) => void process.send?.(answer);
  const refusals = new Refusals();
  const kept = openVariantStore(directory);
  const store: VariantStore = {
    of(kernel, image, make) {
      const key = keyOf(kernel, image);
      const reason = refusals.of(key);
      if (reason !== undefined) return { reason };
      return kept.of(kernel, image, () => {
        tell({ begun: key });
        return make();
      });
    },
  };
  process.on("message", (asked: VariantMessage) => {
    if ("close" in asked) closeSync(asked.close);
    else if ("refuse" in asked) refusals.add(asked.refuse, asked.reason);
    else tell(makeVariants(asked.path, store));
  });
  tell("ready");
  return new Promise((resolve) => process.on("disconnect", () => resolve()));
}
