// An upper bound of what best-effort work gets beside requests: a share of the GPU that somebody else than the policy says,
// such as the manager of a cluster. It only ever takes away from what the rules give, so that a high client is protected at
// least as well as without it. What a share means depends on how work is submitted:
// - Launch by launch, in mode mps: kernels beside a request need no more than the share of the SMs (MuxFlow, section 4.3).
// - Far ahead: a queue is held or released as a whole, so that its time beside a request is limited instead.
import { type Rules, submission, whenActive } from "#protocol";
import { timeShare } from "./ladder/shares.ts";
import { UNLIMITED } from "./policies/launching.ts";
import type { Observed } from "./policy.ts";

/** While nothing holds either of two contexts, the driver's time slices give each of them a half. */
const SLICED = 0.5;

/** The rule `smLimit` for a share of the SMs: a kernel must need fewer. */
export const smLimitFor = (share: number, smCount: number): number =>
  Math.floor(share * smCount + 1e-6) + 1;

/**
 * The rules with at most this share (0 to 1) of the GPU for best-effort work beside requests; the same object where they
 * give no more already, or where nothing beside requests can be limited by a share: nobody waits (`off`), only kernels run
 * that fit beside the latest one (`reef`), or contexts take turns and each launch is let through alone.
 */
export function withinShare(rules: Rules, share: number, seen: Observed): Rules {
  if (rules.protect === 0) return rules;
  const change = rules.submission === submission.launch ? bySms : byTime;
  const bounded = { ...rules, ...change(rules, share, seen) };
  const isSame = Object.entries(bounded).every(([name, value]) => {
    return value === rules[name as keyof Rules];
  });
  return isSame ? rules : bounded;
}

function bySms(rules: Rules, share: number, seen: Observed): Partial<Rules> {
  if (seen.isolated || seen.smCount === undefined) return {};
  const smLimit = smLimitFor(share, seen.smCount);
  if (rules.whenActive === whenActive.allow)
    return {
      ...{ whenActive: whenActive.allowShort, smLimit, maxKernelUs: UNLIMITED },
      holdAfterUs: 0,
    };
  const hasLimit =
    rules.whenActive === whenActive.allowShort || rules.whenActive === whenActive.allowOpposite;
  return hasLimit
    ? { smLimit: Math.min(rules.smLimit, smLimit), ...beginOf(rules, share, seen) }
    : {};
}

function byTime(rules: Rules, share: number, seen: Observed): Partial<Rules> {
  const { besideUs, besideEveryUs, chunkUs } = rules;
  // A chunk is never cut, so what passes at a time is one at least.
  const every = (us: number) => Math.ceil(Math.max(us, chunkUs) / share);
  if (rules.whenActive === whenActive.wait)
    return {
      ...(besideEveryUs > 0 && { besideEveryUs: Math.max(besideEveryUs, every(besideUs)) }),
      ...beginOf(rules, share, seen),
    };
  if (rules.whenActive !== whenActive.allow || (seen.isolated && share >= SLICED)) return {};
  const us = Math.max(chunkUs, timeShare(share, seen.isolated).besideUs);
  return {
    ...{ whenActive: whenActive.wait, holdAfterUs: 0 },
    ...{ besideUs: us, besideEveryUs: every(us) },
  };
}

/** The part of a burst, from its begin, that does not hold. */
function beginOf({ holdAfterUs }: Rules, share: number, { high }: Observed): Partial<Rules> {
  const bursts = high.flatMap(({ burstP50Us }) => burstP50Us ?? []);
  return bursts.length > 0
    ? { holdAfterUs: Math.min(holdAfterUs, Math.floor(share * Math.min(...bursts))) }
    : {};
}
