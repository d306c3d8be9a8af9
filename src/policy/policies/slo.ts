import { us } from "#core";
import { type Rules, whenActive } from "#protocol";
import type { Policy } from "../contract/policy.ts";
import { type About, climbing, type Ladder } from "../ladder/ladder.ts";

// A preemption point costs 3 us, so each doubling of a chunk gives half of what the one before
// gave, and costs a request twice as much: from 3 % of a burst on level 0 to 24.
const longer = ({ chunkUs, chunkLaunches }: Rules, times: number) => ({
  chunkUs: us(Math.min(LONGEST.chunkUs, times * chunkUs)),
  chunkLaunches: Math.min(LONGEST.chunkLaunches, times * chunkLaunches),
});
const LONGEST = { chunkUs: us(2000), chunkLaunches: 128 } as const;

/** Launches are timed to make chunks, so without chunks hardly any is timed. */
const SAMPLE_EVERY = 1_000_000;

/**
 * The last level keeps chunks, because a queue without preemption points could not be stopped when
 * the level must be left. Beside trainings the queue ends soon enough.
 */
export const turnsLadder = (base: Rules, about: About): Ladder => [
  {},
  longer(base, 2),
  { ...longer(base, 2), resumeDelayUs: 0 },
  { ...longer(base, 4), resumeDelayUs: 0 },
  { ...longer(base, 8), resumeDelayUs: 0 },
  {
    ...LONGEST,
    resumeDelayUs: 0,
    whenActive: whenActive.allow,
    ...(about === "throughput" && { protect: 0, sampleEvery: SAMPLE_EVERY }),
  },
];

export const slo: Policy = {
  name: "slo",
  summary: "best-effort work gets all that the objectives of high clients (run --slo) leave",
  learnsFrom: "objectives",
  ...climbing(turnsLadder),
};
