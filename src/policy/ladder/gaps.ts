// If the CPU limits a service, a kernel that comes a little later is done long before the program
// asks for it. So it gets an objective by default (decision 0021).
import type { MeteredHigh, Objective } from "../contract/policy.ts";
import { isCpuLimitedByWaits } from "../parameters/cpu-limit.ts";
import { burstsThatTell } from "./enough.ts";

/** The parts are of the median burst: `strict` is the alternative. */
const gapsObjective: Objective = {
  p99Us: undefined,
  slowdown: 0.1,
  medianSlowdown: 0.02,
};

export const isByDefault = (objective: Objective | undefined): boolean =>
  objective === gapsObjective;

export interface Waits {
  readonly bursts: number;
  readonly lastedUs: number;
  readonly waitedUs: number;
  readonly gaps: boolean;
}

export const noWaits: Waits = { bursts: 0, lastedUs: 0, waitedUs: 0, gaps: false };
const MIN_BURSTS = 200;

// Compiling takes seconds of a burst's CPU time and says nothing of others: it counts as this many
// usual ones, once so many bursts are known.
const UNUSUAL = 10;
const MIN_USUAL_BURSTS = 20;

export function withWaits(was: Waits, { bursts, lastedUs, waitedUs }: Omit<Waits, "gaps">): Waits {
  if (bursts === 0) return was;
  const keep = was.bursts > 2 * MIN_BURSTS ? 0.5 : 1;
  const mostUs =
    was.bursts >= MIN_USUAL_BURSTS ? (UNUSUAL * bursts * was.lastedUs) / was.bursts : lastedUs;
  const counts = lastedUs > mostUs ? mostUs / lastedUs : 1;
  const now = {
    bursts: keep * was.bursts + bursts,
    lastedUs: keep * was.lastedUs + counts * lastedUs,
    waitedUs: keep * was.waitedUs + counts * waitedUs,
  };
  const isKnown = now.bursts >= burstsThatTell(MIN_BURSTS, now.lastedUs / now.bursts);
  const gaps = isKnown && isCpuLimitedByWaits(now.waitedUs / now.lastedUs, was.gaps);
  return { ...now, gaps };
}

export function withGapsObjective(client: MeteredHigh, known: Waits | undefined): MeteredHigh {
  const own = client.objective !== undefined || client.training === true;
  return own || !known?.gaps ? client : { ...client, objective: gapsObjective };
}
