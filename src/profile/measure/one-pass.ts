// What Nsight Compute can be asked in runs of one pass each. Before it replays a kernel it saves all memory that the
// process has, which takes seconds where that is many gigabytes; a kernel that is looked at in one pass is not
// replayed. The sets are those of one-pass.json, which bench/profiles/classes.py goes by too.
import asked from "./one-pass.json" with { type: "json" };

/** Of a GPU of another one the parts of a throughput have other names. */
export const ONE_PASS_CAPABILITY = "9.0";

/** Metrics by run. */
export const onePassRuns: readonly (readonly string[])[] = asked.lines.map((sets) => sets.flat());
