// Services that launch kernel by kernel and are limited by their CPU. The GPU idles for much of each of their bursts, and
// a kernel that comes a little later is done long before the program asks for it. If such a service states no objective,
// the policy takes one by default: best-effort work fills the gaps, as long as bursts hardly wait longer than under `strict`
// (docs/design/decisions/0021). Any other service without an objective is protected as under `strict`.
import type { MeteredHigh, Objective } from "../contract/policy.ts";
import { isCpuLimitedByWaits } from "../parameters/cpu-limit.ts";
import { burstsThatTell } from "./enough.ts";

/**
 * By how much its bursts may wait longer than under `strict`, as a part of the median burst: the p99 and the median. `strict` is what
 * the service had otherwise, so best-effort work need not pause for bursts alone.
 */
const gapsObjective: Objective = {
  p99Us: undefined,
  slowdown: 0.1,
  medianSlowdown: 0.02,
};

export const isByDefault = (objective: Objective | undefined): boolean =>
  objective === gapsObjective;

/** The time of a service's bursts, and the part for which it waited for the GPU. */
export interface Waits {
  readonly bursts: number;
  readonly lastedUs: number;
  readonly waitedUs: number;
  /** It leaves gaps, as far as is known. */
  readonly gaps: boolean;
}

export const noWaits: Waits = { bursts: 0, lastedUs: 0, waitedUs: 0, gaps: false };

/** Number of bursts that counts as evidence. After twice as many, half is forgotten. */
const MIN_BURSTS = 200;

/**
 * A burst in which a program compiles kernels takes seconds of its CPU, and says nothing of others: it counts as no more than this many
 * usual ones, once these are known of this many bursts.
 */
const UNUSUAL = 10;
const MIN_USUAL_BURSTS = 20;

/** With the bursts of another look. */
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

/** With the objective that a service which leaves gaps has by default. */
export function withGapsObjective(client: MeteredHigh, known: Waits | undefined): MeteredHigh {
  const own = client.objective !== undefined || client.training === true;
  return own || !known?.gaps ? client : { ...client, objective: gapsObjective };
}
