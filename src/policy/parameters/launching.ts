// Such systems have no preemption points and no pause flags: each launch asks the gate.
import { us } from "#core";
import { type Rules, rules, submission } from "#protocol";
import type { Observed } from "../contract/policy.ts";
import { strict } from "./strict.ts";

const MARK_EVERY = 4; // an end is noticed no sooner

export const launchByLaunch = (seen: Observed, more: Partial<Rules>): Rules => ({
  ...strict.rules(seen),
  submission: submission.launch,
  resumeDelayUs: 0,
  chunkUs: us(rules.chunkUs.most),
  chunkLaunches: MARK_EVERY,
  activeAheadUs: us(rules.activeAheadUs.most),
  preemptUs: 0,
  graphGates: 0,
  splitProductsUs: 0,
  ...more,
});

export const UNLIMITED = 2 ** 32 - 1;

export function requestUs({ high }: Observed): number | undefined {
  const known = high.flatMap(({ soloUs, burstP50Us = soloUs }) =>
    burstP50Us === undefined ? [] : [soloUs ?? burstP50Us],
  );
  return known.length === 0 ? undefined : Math.min(...known);
}
