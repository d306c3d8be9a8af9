// Orion (EuroSys'24), Listing 1. Contexts that take turns can't run side by side: there it waits.
import { us } from "#core";
import { inRange, rules, whenActive } from "#protocol";
import type { Policy } from "../contract/policy.ts";
import { launchByLaunch, requestUs, UNLIMITED } from "../parameters/launching.ts";
import { search, type ThresholdMemory } from "./threshold.ts";

const DUR_THRESHOLD = 0.025;
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
