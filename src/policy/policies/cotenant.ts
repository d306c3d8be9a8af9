// The default. A client without an objective is protected as under `strict`. With objectives (run --slo) a ladder is
// climbed as far as bursts and requests allow: first longer chunks, which cost little, then chunks beside requests. In
// mode mps those fill the gaps of a request that launches kernel by kernel. A request that keeps the GPU busy gets slower
// by them, also through cache, clock and power, which breaks the objective, so they end soon
// (docs/design/decisions/0004). In mode isolated they only delay a burst, and best-effort work gains no time, because as
// many bursts come as before. An engine that batches requests does more in each step when it is delayed, so that its
// requests take less GPU time: they are given beside requests whose users have time to spare.
import type { Rules } from "#protocol";
import { type About, climbing, type Ladder } from "../ladder.ts";
import type { Policy } from "../policy.ts";
import { LONGEST, turnsLadder } from "./slo.ts";

/**
 * Beside a request, one chunk in so many times its length. Each level gives and costs twice as much as the one below. In
 * mode mps a chunk is as long as under `strict`, and an eighth is the least that gives more than the long chunks before.
 * In mode isolated it is the longest one, because it costs two changes of context of 140 us.
 */
const BESIDE_EVERY = [8, 4, 2] as const;

function ladder(base: Rules, about: About): Ladder {
  const turns = turnsLadder(base, about);
  const isolated = base.isolated === 1;
  if (isolated && about !== "requests") return turns;
  const chunk = isolated ? LONGEST : { chunkUs: base.chunkUs };
  const beside = BESIDE_EVERY.map((chunks) => ({
    ...chunk,
    resumeDelayUs: 0,
    besideEveryUs: chunks * chunk.chunkUs,
  }));
  return [...turns.slice(0, -1), ...beside, ...turns.slice(-1)];
}

export const cotenant: Policy = {
  name: "cotenant",
  summary: "as `strict`; with objectives (run --slo) all that they leave, beside requests too",
  learnsFrom: "objectives",
  ...climbing(ladder),
};
