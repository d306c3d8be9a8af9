// Before it replays a kernel, ncu saves all memory of the process, which takes seconds for many
// gigabytes; one pass needs no replay. bench/profiles/classes.py uses one-pass.json too.
import asked from "./one-pass.json" with { type: "json" };

/** On GPUs of other capabilities the parts of a throughput have other names. */
export const ONE_PASS_CAPABILITY = "9.0";

export const onePassRuns: readonly (readonly string[])[] = asked.lines.map((sets) => sets.flat());
