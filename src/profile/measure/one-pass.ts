// The metrics that Nsight Compute can measure in runs of one pass each. Before it replays a kernel it saves all memory
// of the process, which takes seconds if that is many gigabytes. A kernel that is measured in one pass is not replayed.
// The sets are those of one-pass.json, which bench/profiles/classes.py uses too.
import asked from "./one-pass.json" with { type: "json" };

/** On GPUs of other capabilities the parts of a throughput have other names. */
export const ONE_PASS_CAPABILITY = "9.0";

/** The metrics of each run. */
export const onePassRuns: readonly (readonly string[])[] = asked.lines.map((sets) => sets.flat());
