// Taking turns: while a request is active, best-effort work waits. Between requests it is submitted far ahead and released
// in chunks. A new request may have to wait for one chunk, so a chunk is a small part of the shortest usual burst.
import { us } from "#core";
import { usualRules } from "#protocol";
import type { Observed, Policy } from "../contract/policy.ts";
import { h200 } from "./hardware.ts";

/** The length of a chunk, as a part of a burst. A burst gets longer by at most this part. */
const CHUNK_SHARE = 0.03;
/** How often a time slice on the GPU is renewed. */
const RENEW_US = 1200;
/** Below 50 us the marks between chunks cost more than they save; above 400 us nothing is gained. */
const CHUNK_US = { least: 50, unknown: usualRules.chunkUs, most: 400 } as const;

export const strict: Policy = {
  name: "strict",
  summary: "best-effort work waits while any request is active",
  rules: (seen) => ({
    ...usualRules,
    isolated: seen.isolated ? 1 : 0,
    chunkUs: us(chunkUs(seen)),
    renewUs: us(renewUs(seen)),
  }),
};

function chunkUs({ high }: Observed): number {
  const bursts = high.flatMap(({ burstP50Us }) => (burstP50Us === undefined ? [] : [burstP50Us]));
  if (bursts.length === 0) return CHUNK_US.unknown;
  const share = Math.round(CHUNK_SHARE * Math.min(...bursts));
  return Math.min(CHUNK_US.most, Math.max(CHUNK_US.least, share));
}

/**
 * For mode isolated. A burst longer than a time slice has to wait when its slice ends, so a slice of best-effort work
 * should not end in the middle of a kernel. A shorter burst keeps the GPU to its end (docs/design/decisions/0007). A step
 * of an LLM engine is some short bursts and a long one, which has most of the time, so bursts count by their time.
 */
function renewUs({ isolated, high }: Observed): number {
  const longest = Math.max(
    0,
    ...high.map(({ burstP50Us = 0, burstByTimeUs = burstP50Us }) => burstByTimeUs),
  );
  return isolated && longest > h200.sliceUs ? RENEW_US : 0;
}
