// `cotenant-lab predict collect`: the bench's results as measured colocations.
import { collectSides, parseResult } from "#bench";
import { checkWritable, errors, readGiven, writeGiven } from "#core";
import type { Options } from "./options.ts";

export function collect({ positional: [, ...files], arrangement, out }: Options): number {
  if (files.length === 0) throw errors.missingArgument("predict collect", "RESULT …");
  if (out === undefined) throw errors.missingArgument("predict collect", "--out FILE");
  checkWritable(out);
  const results = files.map((path) => parseResult(readGiven(path, "result"), path));
  const { source, ...rest } = collectSides(results, arrangement);
  writeGiven(out, `${JSON.stringify({ ...rest, source }, null, 1)}\n`);
  console.log(
    `${out}: ${rest.colocations.length} colocations of ${files.length} results (${source})`,
  );
  return 0;
}
