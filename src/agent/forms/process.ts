// The process that makes forms: does one request after the other, and ends with the agent that started it.
import { closeSync } from "node:fs";
import { endWithParent } from "../system/index.ts";
import { openForms } from "./store.ts";
import { type Made, makeForms } from "./variants.ts";

/** What the agent says: the file of a request, or which of the descriptors in the answers it has opened. */
export type Asked = { readonly path: string } | { readonly close: number };

export type Answer = "ready" | Made;

/** Resolves when the agent is gone. `directory`: where forms are kept. */
export function serveForms(directory: string): Promise<void> {
  endWithParent();
  const forms = openForms(directory);
  const answer = (made: Answer) => void process.send?.(made);
  process.on("message", (asked: Asked) => {
    if ("close" in asked) closeSync(asked.close);
    else answer(makeForms(asked.path, forms));
  });
  answer("ready");
  return new Promise((resolve) => process.on("disconnect", () => resolve()));
}
