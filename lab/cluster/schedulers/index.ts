// The table of schedulers. To add one: a file beside this one, a line here.
import { badSetting, noKnob, unknownScheduler } from "../model/errors.ts";
import { ours, oursUnlearning } from "./cotenant.ts";
import { kaceGreedy } from "./kace.ts";
import { muxflow, muxflowCalm, muxflowM, muxflowS, muxflowSM } from "./muxflow.ts";
import { onlineOnly, priorityTimeSharing, srtf, timeSharing } from "./queue.ts";
import type { SchedulerKind, Trigger } from "./scheduler.ts";
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
  oursUnlearning,
  oursSeveral,
  ours,
];

const TRIGGERS: readonly Trigger[] = ["rounds", "once"];
export type UsualTrigger = Trigger | "published";
export const usualTriggers: readonly UsualTrigger[] = [...TRIGGERS, "published"];

/**
 * A scheduler by its name, with `=NUMBER` for its knob and `@rounds` or `@once` for its trigger. Without one it has the
 * trigger `usual`: the same for all, so that what differs is how they decide; or the one that each was published with.
 * Throws a UserError if there is no such scheduler, or it has no such setting.
 */
export function schedulerNamed(text: string, usual: UsualTrigger = "once"): SchedulerKind {
  const [, name, given, when] = /^([^=@]*)(?:=([^@]*))?(?:@(.*))?$/.exec(text) ?? [];
  const found = schedulers.find((one) => one.name === name);
  const unmarked = usual === "published" ? found?.trigger : usual;
  const trigger = when === undefined ? unmarked : TRIGGERS.find((one) => one === when);
  if (!found || !trigger)
    throw unknownScheduler(
      text,
      schedulers.map((one) => one.name),
    );
  const kind = { ...found, name: text, trigger };
  if (given === undefined) return kind;
  const { knob } = found;
  if (!knob) throw noKnob(found.name);
  const setting = given.trim() === "" ? Number.NaN : Number(given);
  if (!(setting >= knob.least && setting <= knob.most))
    throw badSetting(text, knob.about, knob.least, knob.most);
  return { ...kind, make: () => found.make(setting) };
}
