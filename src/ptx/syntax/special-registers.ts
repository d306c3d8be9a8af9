// PTX ISA 9.0, section 10, describes them.

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

/** It is asked for every register, so most answers come from a table. `name` has no component. */
export function isSpecial(name: string): boolean {
  if (name.charCodeAt(0) !== PERCENT || starts[startOf(name)] !== 1) return false;
  return names.has(name) || numbered.test(name);
}

const PERCENT = 37;
const ASCII = 128;

const startOf = (name: string) => name.charCodeAt(1) * ASCII + name.charCodeAt(2);

const starts = new Uint8Array(ASCII * ASCII);
for (const name of [...named, "%pm", "%envreg", "%reserved"]) starts[startOf(name)] = 1;
