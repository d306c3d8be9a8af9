// Taking turns, and what objectives leave beyond that. Whoever asks for nothing is protected as under `strict`.
// Where a high client has an objective (run --slo), a ladder is climbed as far as its bursts allow: longer
// chunks first, which cost little, and in mode mps then chunks beside requests. Those fill the gaps of a
// request that is bound by launching; one that keeps the GPU busy pays for them, and then they are not given
// for long. What they cost through cache, clock and power is in the bursts too (docs/decisions/0004).
import { climbing, type Ladder } from "./ladder.ts";
import type { Policy, Rules } from "./policy.ts";
import { turnsLadder } from "./slo.ts";

/** A chunk of `strict`'s length beside a request, every so many chunks' time. */
const BESIDE_EVERY = { fourth: 4, second: 2 } as const;

function besideLadder(base: Rules, training: boolean): Ladder {
  const turns = turnsLadder(base, training);
  return [
    ...turns.slice(0, -1),
    { resumeDelayUs: 0, besideEveryUs: BESIDE_EVERY.fourth * base.chunkUs },
    { resumeDelayUs: 0, besideEveryUs: BESIDE_EVERY.second * base.chunkUs },
    ...turns.slice(-1),
  ];
}

export const cotenant: Policy = {
  name: "cotenant",
  summary:
    "as `strict`; with objectives (run --slo, about bursts) all that they leave, in mode mps beside requests too",
  learnsFrom: "objectives",
  ...climbing((base, training) =>
    (base.isolated === 1 ? turnsLadder : besideLadder)(base, training),
  ),
};
