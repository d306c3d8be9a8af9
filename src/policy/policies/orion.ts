// Orion (EuroSys'24), Listing 1: beside a high kernel goes one of the opposite class, or of none, that needs
// fewer SMs than SM_THRESHOLD; and with a request active or not, nothing is launched once the best-effort
// kernels since the last pause come to more than DUR_THRESHOLD, until the last of them has ended. Several
// best-effort clients have a budget each. Contexts that take turns can't run beside each other: there it waits.
import { us } from "#core";
import { inRange, rules, whenActive } from "#protocol";
import type { Policy } from "../contract/policy.ts";
import { launchByLaunch, requestUs, UNLIMITED } from "../parameters/launching.ts";
import { search, type ThresholdMemory } from "./threshold.ts";

/** Part of the high job's solo request or iteration (section 6.4). */
const DUR_THRESHOLD = 0.025;
/** Before the first request is seen. */
const UNKNOWN_BUDGET_US = 50;

export const orion: Policy = {
  name: "orion",
  summary:
    "beside a high kernel what is of the opposite class and needs few SMs; 2.5 % of a request out",
  rules(seen, memory?: ThresholdMemory) {
    const budgetUs = Math.max(
      1,
      Math.round(DUR_THRESHOLD * (requestUs(seen) ?? UNKNOWN_BUDGET_US / DUR_THRESHOLD)),
    );
    return launchByLaunch(seen, {
      whenActive: seen.isolated ? whenActive.wait : whenActive.allowOpposite,
      // On a GPU whose SM count is unknown, no kernel counts as small.
      smLimit: memory?.smLimit ?? seen.smCount ?? 0,
      maxKernelUs: us(UNLIMITED),
      budgetUs: us(Math.min(budgetUs, UNLIMITED)),
      chunkUs: us(inRange(rules.chunkUs, budgetUs)),
      wantKernels: 1,
    });
  },
  learnsFrom: "trainings",
  remember: search,
};
