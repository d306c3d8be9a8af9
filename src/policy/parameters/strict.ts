// A new request may wait for one chunk, so a chunk is a small part of the shortest usual burst.
import { us } from "#core";
import { usualRules } from "#protocol";
import type { Observed, Policy } from "../contract/policy.ts";
import { h200 } from "./hardware.ts";

const CHUNK_SHARE = 0.03;
const RENEW_US = 1200;
// Below 50 us the marks between chunks cost more than they save; above 400 us nothing is gained.
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

// In mode isolated, a burst longer than a time slice waits when its slice ends, so a slice of
// best-effort work should not end within a kernel (decision 0007).
function renewUs({ isolated, high }: Observed): number {
  const longest = Math.max(
    0,
    ...high.map(({ burstP50Us = 0, burstByTimeUs = burstP50Us }) => burstByTimeUs),
  );
  return isolated && longest > h200.sliceUs ? RENEW_US : 0;
}
