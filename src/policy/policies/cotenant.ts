// Taking turns, and what objectives leave beyond that. Whoever asks for nothing is protected as under `strict`.
// Where a high client has an objective (run --slo), a ladder is climbed as far as its bursts allow: longer
// chunks first, which cost little, and in mode mps then chunks beside requests. Those fill the gaps of a
// request that is bound by launching; one that keeps the GPU busy pays for them, and then they are not given
// for long. What they cost through cache, clock and power it waits for, too (docs/design/decisions/0004).
import type { Rules } from "#protocol";
import { climbing, type Ladder } from "../ladder.ts";
import type { Policy } from "../policy.ts";
import { turnsLadder } from "./slo.ts";

/**
 * A chunk of `strict`'s length beside a request, every so many chunks' time: each level twice what the one below gives,
 * and costs. An eighth is the least that gives more than the long chunks before it.
 */
const BESIDE_EVERY = [8, 4, 2] as const;

function besideLadder(base: Rules, training: boolean): Ladder {
  const turns = turnsLadder(base, training);
  const beside = BESIDE_EVERY.map((chunks) => ({
    resumeDelayUs: 0,
    besideEveryUs: chunks * base.chunkUs,
  }));
  return [...turns.slice(0, -1), ...beside, ...turns.slice(-1)];
}

export const cotenant: Policy = {
  name: "cotenant",
  summary:
    "as `strict`; with objectives (run --slo) all that they leave, in mode mps beside requests too",
  learnsFrom: "objectives",
  ...climbing((base, training) =>
    (base.isolated === 1 ? turnsLadder : besideLadder)(base, training),
  ),
};
