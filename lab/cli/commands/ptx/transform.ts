// `cotenant-lab ptx slice` and `cotenant-lab ptx preempt`: the module with variants of its kernels.
import { writeGiven } from "#core";
import { legality, type Module, preempt, print, slice } from "#ptx";
import type { PtxArgs } from "./options.ts";

/** The module goes to stdout or --out, what was refused to stderr. Exit status 1 if no kernel was changed. */
export function transform(
  pass: "slice" | "preempt",
  module: Module,
  file: string,
  { out, json: asJson }: PtxArgs,
): number {
  const kernels = legality(module);
  const changed = kernels.filter((one) => one[pass].legal);
  const ptx = print((pass === "slice" ? slice : preempt)(module));
  if (asJson) {
    const refused = kernels.filter((one) => !one[pass].legal);
    console.log(
      JSON.stringify(
        {
          file,
          pass,
          changed: changed.map(({ kernel }) => kernel),
          refused: refused.map((one) => ({ kernel: one.kernel, reasons: one[pass].reasons })),
          ptx,
        },
        null,
        2,
      ),
    );
  } else if (out === undefined) process.stdout.write(Buffer.from(ptx, "latin1"));
  if (out !== undefined) writeGiven(out, Buffer.from(ptx, "latin1"));
  console.error(`ptx: ${pass}: ${changed.length} of ${kernels.length} kernels of ${file}`);
  for (const { kernel, [pass]: verdict } of kernels)
    for (const { line, text, code } of verdict.reasons)
      console.error(`ptx: ${kernel} refused, line ${line}: ${text} [${code}]`);
  return changed.length > 0 ? 0 : 1;
}
