// As much best-effort work as the high clients' objectives allow, by one ladder for both modes.
import { whenActive } from "#protocol";
import { climbing, type Ladder } from "./ladder.ts";
import type { Policy } from "./policy.ts";

/**
 * On the last, best-effort work is not held at all, but goes on in chunks: without borders, what is queued
 * could not be stopped when the level must be left.
 */
export const turnsLadder: Ladder = [
  {},
  { chunkUs: 400, chunkLaunches: 32 },
  { chunkUs: 400, chunkLaunches: 32, resumeDelayUs: 0 },
  { chunkUs: 1000, chunkLaunches: 64, resumeDelayUs: 0 },
  { chunkUs: 2000, chunkLaunches: 128, resumeDelayUs: 0 },
  { chunkUs: 2000, chunkLaunches: 128, resumeDelayUs: 0, whenActive: whenActive.allow },
];

export const slo: Policy = {
  name: "slo",
  summary:
    "best-effort work gets all that the objectives of high clients (run --slo, about bursts) leave",
  ...climbing(() => turnsLadder),
};
