// An upper bound of what best-effort work gets during requests: a share of the GPU that somebody else than the policy says,
// such as the manager of a cluster. It only ever takes away from what the rules give, so that a high client is protected at
// least as well as without it. What a share means depends on how work is submitted:
// - Launch by launch, in mode mps: kernels concurrent with a request need no more than the share of the SMs (MuxFlow, section 4.3).
// - Far ahead: a queue is held or released as a whole, so that its time beside a request is limited instead.
import { us } from "#core";
import { type Rules, rules as ranges, submission, whenActive } from "#protocol";
import type { Observed } from "../contract/policy.ts";
import { timeShare } from "../requests/slices.ts";
import { UNLIMITED } from "./launching.ts";

/** While nothing holds either of two contexts, the driver's time slices give each of them a half. */
const SLICED = 0.5;
/** The gate stands still for no longer. */
const MAX_EVERY_US = ranges.coRunEveryUs.most;

/** The rule `smLimit` for a share of the SMs: a kernel must need fewer. */
export const smLimitFor = (share: number, smCount: number): number =>
  Math.floor(share * smCount + 1e-6) + 1;

/** How launches may be limited to some SMs beside a request. */
const bySize: ReadonlySet<number> = new Set([
  whenActive.allow,
  whenActive.allowShort,
  whenActive.allowOpposite,
]);

/**
 * Whether a share can limit what these rules let run concurrently with requests. It can't where nobody waits (`off`), where only
 * kernels run that fit beside the latest one (`reef`), where an iteration is finished (`temporal`), and where contexts take
 * turns and each launch is let through alone.
 */
export function isBoundable(rules: Rules, { isolated, smCount }: Observed): boolean {
  if (rules.protect === 0) return false;
  if (rules.whenActive === whenActive.wait) return true;
  return rules.submission === submission.launch
    ? !isolated && smCount !== undefined && bySize.has(rules.whenActive)
    : rules.whenActive === whenActive.allow;
}

/**
 * The rules with at most this share (0 to 1) of the GPU for best-effort work concurrent with requests; the same object where they
 * give no more already, or can't be limited by a share.
 */
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

/** Times of `coRunSliceUs`, at least `everyUs` apart, that are at most the share: rarer, and shorter where that is not enough. */
function rarely(coRunSliceUs: number, everyUs: number, chunkUs: number, share: number) {
  // A chunk is never cut, so what passes at a time is one at least.
  const apart = Math.max(everyUs, Math.ceil(Math.max(coRunSliceUs, chunkUs) / share));
  if (apart <= MAX_EVERY_US) return { coRunSliceUs: us(coRunSliceUs), coRunEveryUs: us(apart) };
  return {
    coRunSliceUs: us(Math.min(coRunSliceUs, Math.floor(MAX_EVERY_US * share))),
    coRunEveryUs: us(MAX_EVERY_US),
  };
}

/** The part of a burst, from its start, that does not hold. */
function beginOf({ graceUs }: Rules, share: number, { high }: Observed): Partial<Rules> {
  const bursts = high.flatMap(({ burstP50Us }) => burstP50Us ?? []);
  return bursts.length > 0
    ? { graceUs: us(Math.min(graceUs, Math.floor(share * Math.min(...bursts)))) }
    : {};
}
