// Registers that the machine sets (PTX ISA 9.0, section 10).

const named = [
  "%tid",
  "%ntid",
  "%laneid",
  "%warpid",
  "%nwarpid",
  "%ctaid",
  "%nctaid",
  "%smid",
  "%nsmid",
  "%gridid",
  "%is_explicit_cluster",
  "%clusterid",
  "%nclusterid",
  "%cluster_ctaid",
  "%cluster_nctaid",
  "%cluster_ctarank",
  "%cluster_nctarank",
  "%lanemask_eq",
  "%lanemask_le",
  "%lanemask_lt",
  "%lanemask_ge",
  "%lanemask_gt",
  "%clock",
  "%clock_hi",
  "%clock64",
  "%globaltimer",
  "%globaltimer_lo",
  "%globaltimer_hi",
  "%total_smem_size",
  "%aggr_smem_size",
  "%dynamic_smem_size",
  "%current_graph_exec",
] as const;

const names: ReadonlySet<string> = new Set(named);
const numbered = /^%(pm\d+(_64)?|envreg\d+|reserved_smem_offset_\w+)$/;

/**
 * `name` has no component. This is asked for every register of every instruction, so most answers come from a table of
 * two letters.
 */
export function isSpecial(name: string): boolean {
  if (name.charCodeAt(0) !== PERCENT || starts[startOf(name)] !== 1) return false;
  return names.has(name) || numbered.test(name);
}

const PERCENT = 37;
const ASCII = 128;

/** The two letters behind the percent sign as one number; beyond ASCII it may lie outside of the table. */
const startOf = (name: string) => name.charCodeAt(1) * ASCII + name.charCodeAt(2);

/** 1 if the name of a special register begins with these two letters. */
const starts = new Uint8Array(ASCII * ASCII);
for (const name of [...named, "%pm", "%envreg", "%reserved"]) starts[startOf(name)] = 1;
