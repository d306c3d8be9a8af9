// The process that makes variants: does one request after the other, and ends with the agent that started it.
import { closeSync } from "node:fs";
import { endWithParent } from "../system/index.ts";
import { type Made, makeVariants } from "./make-variants.ts";
import { keyOf, Refusals } from "./refusals.ts";
import { openVariantStore, type VariantStore } from "./store.ts";

/** The agent's messages. */
export type VariantMessage =
  /** The file of a request. */
  | { readonly path: string }
  /** One of the descriptors in the answers, which the agent has opened. */
  | { readonly close: number }
  /** A request that is to be refused from now on. */
  | { readonly refuse: string; readonly reason: string };

export type Answer =
  | "ready"
  /** The request in work: the agent remembers it where it has to end this process. */
  | { readonly begun: string }
  | Made;

/** Resolves when the agent is gone. `directory`: where variants are kept. */
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
