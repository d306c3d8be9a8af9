// A bound from elsewhere, such as a cluster's manager, only takes away from the policy's
// parameters. Launch by launch in mode mps, it limits SMs (MuxFlow, section 4.3), otherwise time.
import { us } from "#core";
import { type Rules, rules as ranges, submission, whenActive } from "#protocol";
import type { Observed } from "../contract/policy.ts";
import { timeShare } from "../requests/slices.ts";
import { UNLIMITED } from "./launching.ts";

const SLICED = 0.5;
const MAX_EVERY_US = ranges.coRunEveryUs.most;

export const smLimitFor = (share: number, smCount: number): number =>
  Math.floor(share * smCount + 1e-6) + 1;

const bySize: ReadonlySet<number> = new Set([
  whenActive.allow,
  whenActive.allowShort,
  whenActive.allowOpposite,
]);

/** Others can't be limited: nobody waits, an iteration is finished, or contexts take turns. */
export function isBoundable(rules: Rules, { isolated, smCount }: Observed): boolean {
  if (rules.protect === 0) return false;
  if (rules.whenActive === whenActive.wait) return true;
  return rules.submission === submission.launch
    ? !isolated && smCount !== undefined && bySize.has(rules.whenActive)
    : rules.whenActive === whenActive.allow;
}

/** Returns the same object where the share changes nothing. */
export function withinShare(rules: Rules, share: number, seen: Observed): Rules {
  if (!isBoundable(rules, seen)) return rules;
  const change = rules.submission === submission.launch ? bySms : byTime;
  const bounded = { ...rules, ...change(rules, share, seen) };
  const isSame = Object.entries(bounded).every(([name, value]) => {
    return value === rules[name as keyof Rules];
  });
  return isSame ? rules : bounded;
}

function bySms(rules: Rules, share: number, seen: Observed): Partial<Rules> {
  const begin = beginOf(rules, share, seen);
  if (rules.whenActive === whenActive.wait) return begin;
  const smLimit = smLimitFor(share, seen.smCount ?? 0);
  if (rules.whenActive === whenActive.allow)
    return {
      ...{ whenActive: whenActive.allowShort, smLimit, maxKernelUs: us(UNLIMITED) },
      graceUs: 0,
    };
  return { smLimit: Math.min(rules.smLimit, smLimit), ...begin };
}

function byTime(rules: Rules, share: number, seen: Observed): Partial<Rules> {
  const { coRunSliceUs, coRunEveryUs, chunkUs } = rules;
  if (rules.whenActive === whenActive.wait)
    return {
      ...(coRunEveryUs > 0 && rarely(coRunSliceUs, coRunEveryUs, chunkUs, share)),
      ...beginOf(rules, share, seen),
    };
  if (seen.isolated && share >= SLICED) return {};
  const lengthUs = Math.max(chunkUs, timeShare(share, seen.isolated).coRunSliceUs);
  return { whenActive: whenActive.wait, graceUs: 0, ...rarely(lengthUs, 0, chunkUs, share) };
}

function rarely(coRunSliceUs: number, everyUs: number, chunkUs: number, share: number) {
  // A chunk is never cut, so at least one passes at a time.
  const apart = Math.max(everyUs, Math.ceil(Math.max(coRunSliceUs, chunkUs) / share));
  if (apart <= MAX_EVERY_US) return { coRunSliceUs: us(coRunSliceUs), coRunEveryUs: us(apart) };
  return {
    coRunSliceUs: us(Math.min(coRunSliceUs, Math.floor(MAX_EVERY_US * share))),
    coRunEveryUs: us(MAX_EVERY_US),
  };
}

function beginOf({ graceUs }: Rules, share: number, { high }: Observed): Partial<Rules> {
  const bursts = high.flatMap(({ burstP50Us }) => burstP50Us ?? []);
  return bursts.length > 0
    ? { graceUs: us(Math.min(graceUs, Math.floor(share * Math.min(...bursts)))) }
    : {};
}
