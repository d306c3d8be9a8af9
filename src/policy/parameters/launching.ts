// The parameter table of policies that decide launch by launch, as the systems do that they come from: no preemption points
// and no pause flags, each launch asks the gate when it is about to be made.
import { us } from "#core";
import { type Rules, rules, submission } from "#protocol";
import type { Observed } from "../contract/policy.ts";
import { strict } from "./strict.ts";

/** A mark behind this many launches: what has ended is known no sooner. */
const MARK_EVERY = 4;

/** Whatever `more` does not limit is unlimited between requests, and waits while one is active. */
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

/** A size or a duration that nothing exceeds. */
export const UNLIMITED = 2 ** 32 - 1;

/** The shortest request, alone where that is known; undefined before the first. */
export function requestUs({ high }: Observed): number | undefined {
  const known = high.flatMap(({ soloUs, burstP50Us = soloUs }) =>
    burstP50Us === undefined ? [] : [soloUs ?? burstP50Us],
  );
  return known.length === 0 ? undefined : Math.min(...known);
}
