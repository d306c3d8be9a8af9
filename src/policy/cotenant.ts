// Taking turns, and what objectives leave beyond that. Whoever asks for nothing is protected as under `strict`.
// Where a high client has an objective (run --slo), a ladder is climbed as far as its bursts allow: longer
// chunks first, which cost little, and in mode mps then chunks beside requests. Those fill the gaps of a
// request that is bound by launching; one that keeps the GPU busy pays for them, and then they are not given
// for long. What they cost through cache, clock and power is in the bursts too (docs/decisions/0004).
import { whenActive } from "#protocol";
import { climbing, type Ladder } from "./ladder.ts";
import type { Policy, Rules } from "./policy.ts";
import { turnsLadder } from "./slo.ts";

/** A chunk of `strict`'s length beside a request, every so many chunks' time. */
const BESIDE_EVERY = { fourth: 4, second: 2 } as const;

const besideLadder = ({ chunkUs }: Rules): Ladder => [
  ...turnsLadder.slice(0, -1),
  { resumeDelayUs: 0, besideEveryUs: BESIDE_EVERY.fourth * chunkUs },
  { resumeDelayUs: 0, besideEveryUs: BESIDE_EVERY.second * chunkUs },
  // Not held at all, but in chunks, or what is queued could not be stopped when this must be left.
  { resumeDelayUs: 0, chunkUs: 2000, chunkLaunches: 128, whenActive: whenActive.allow },
];

export const cotenant: Policy = {
  name: "cotenant",
  summary:
    "as `strict`; with objectives (run --slo, about bursts) all that they leave, in mode mps beside requests too",
  ...climbing((base) => (base.isolated === 1 ? turnsLadder : besideLadder(base))),
};
