// The table of schedulers. To add one: a file beside this one, a line here.
import { unknownScheduler } from "../errors.ts";
import { ours, oursInRounds, oursUnlearning, oursYoung } from "./cotenant.ts";
import { kaceGreedy } from "./kace.ts";
import { muxflow, muxflowCalm, muxflowM, muxflowS, muxflowSM } from "./muxflow.ts";
import { onlineOnly, priorityTimeSharing, srtf, timeSharing } from "./queue.ts";
import type { SchedulerKind } from "./scheduler.ts";
import { oursSeveral } from "./several.ts";
import { tiresias } from "./tiresias.ts";

export const schedulers: readonly SchedulerKind[] = [
  onlineOnly,
  timeSharing,
  priorityTimeSharing,
  kaceGreedy,
  srtf,
  tiresias,
  muxflowSM,
  muxflowS,
  muxflowM,
  muxflow,
  muxflowCalm,
  oursInRounds,
  oursYoung,
  oursUnlearning,
  oursSeveral,
  ours,
];

/** Throws a UserError if there is no scheduler of that name. */
export function schedulerNamed(name: string): SchedulerKind {
  const found = schedulers.find((one) => one.name === name);
  if (!found)
    throw unknownScheduler(
      name,
      schedulers.map((one) => one.name),
    );
  return found;
}
