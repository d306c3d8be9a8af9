// Taking turns: while a request is active, best-effort work waits. Between requests it is submitted far
// ahead and released in chunks; a chunk is what a newly arrived request may have to wait for, so it is
// kept to a small part of the shortest usual burst.
import { usualRules } from "#protocol";
import type { Observed, Policy } from "../policy.ts";

/** A chunk of this part of a burst adds at most this part to it. */
const CHUNK_SHARE = 0.03;
/** A time slice on the GPU, measured on an H200 (docs/results/hardware.md), and how often one begins anew. */
const SLICE = { us: 2100, renewUs: 1200 } as const;
/** Below 50 us the marks between chunks cost more than they save; above 400 us nothing is gained. */
const CHUNK_US = { least: 50, unknown: usualRules.chunkUs, most: 400 } as const;

export const strict: Policy = {
  name: "strict",
  summary: "best-effort work waits while any request is active",
  rules: (seen) => ({
    ...usualRules,
    isolated: seen.isolated ? 1 : 0,
    chunkUs: chunkUs(seen),
    renewUs: renewUs(seen),
  }),
};

function chunkUs({ high }: Observed): number {
  const bursts = high.flatMap(({ burstP50Us }) => (burstP50Us === undefined ? [] : [burstP50Us]));
  if (bursts.length === 0) return CHUNK_US.unknown;
  const share = Math.round(CHUNK_SHARE * Math.min(...bursts));
  return Math.min(CHUNK_US.most, Math.max(CHUNK_US.least, share));
}

/**
 * Where contexts take turns. A request longer than a slice is put off when its own ends, so none of best-effort work should end
 * in the middle of a kernel; a shorter one has the GPU to its end once it is let in (docs/design/decisions/0007).
 */
function renewUs({ isolated, high }: Observed): number {
  const longest = Math.max(0, ...high.map(({ burstP50Us = 0 }) => burstP50Us));
  return isolated && longest > SLICE.us ? SLICE.renewUs : 0;
}
