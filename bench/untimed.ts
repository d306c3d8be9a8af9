// Writes the result of a script that times nothing, so that the machine does not matter.
import { writeFileSync } from "node:fs";
import { commitOf } from "#measure";

/** `command`: what makes it again. `out`: the file; undefined: none is wanted. */
export function writeUntimed(
  out: string | undefined,
  kind: string,
  command: string,
  facts: Readonly<Record<string, unknown>>,
): void {
  if (out === undefined) return;
  const date = new Date().toISOString();
  const machine = "none: nothing is timed";
  const result = { version: 1, kind, date, machine, commit: commitOf("."), command, ...facts };
  writeFileSync(out, `${JSON.stringify(result, null, 1)}\n`);
}
