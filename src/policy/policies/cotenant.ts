// The default. A client without an objective is protected as under `strict`. With objectives (run --slo) a ladder is
// climbed as far as bursts and requests allow: first longer chunks, which cost little; in mode mps then chunks beside
// requests. Those fill the gaps of a request that launches kernel by kernel. A request that keeps the GPU busy gets
// slower by them, also through cache, clock and power, which breaks the objective, so they end soon
// (docs/design/decisions/0004).
import type { Rules } from "#protocol";
import { climbing, type Ladder } from "../ladder.ts";
import type { Policy } from "../policy.ts";
import { turnsLadder } from "./slo.ts";

/**
 * Beside a request, one chunk of `strict`'s length in so many times its length. Each level gives and costs twice as much
 * as the one below. An eighth is the least that gives more than the long chunks before it.
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
