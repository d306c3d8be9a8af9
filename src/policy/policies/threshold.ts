// Orion, section 5.1.1: binary search on the throughput of a high job that trains. It is always
// active, so nothing runs concurrently with it at threshold 0, which is the reference.
import type { Look, Memory, MeteredHigh } from "../contract/policy.ts";

export interface ThresholdMemory extends Memory {
  readonly smLimit: number | undefined; // undefined: Orion's default
  readonly search: Search | undefined;
}

interface Search {
  readonly ids: string;
  readonly reference: number | undefined; // launches a second with threshold 0
  readonly good: number; // the highest that was good enough
  readonly bad: number;
  /** Bursts that end in these samples began under other parameters. */
  readonly settling: number;
  readonly fromMs: number;
  readonly launches: number; // counts since `fromMs`
  readonly colocated: boolean;
}

/** The paper names no limit; its high jobs keep within 16 % of what they do alone. */
const LOSS = 0.16;
const TRIAL_MS = 3_000;
const SETTLING_LOOKS = 2;

const nothing: ThresholdMemory = {
  level: 0,
  pausedUntilMs: undefined,
  clients: new Map(),
  smLimit: undefined,
  search: undefined,
};

export function search(look: Look, was: ThresholdMemory = nothing): ThresholdMemory {
  const { high, smCount, isolated } = look;
  if (isolated || smCount === undefined || high.length === 0 || !high.every(isTraining))
    return nothing;
  const ids = high.map(({ id }) => id).join();
  const known = was.search?.ids === ids ? was.search : begun(ids, smCount, look.nowMs);
  const now = stepped(known, look);
  return { ...nothing, smLimit: trial(now), search: now };
}

const isTraining = ({ training }: MeteredHigh): boolean => training === true;

const begun = (ids: string, smCount: number, nowMs: number): Search => ({
  ids,
  reference: undefined,
  good: 0,
  bad: smCount + 2,
  settling: SETTLING_LOOKS,
  ...trialFrom(nowMs),
});

const trialFrom = (fromMs: number) => ({ fromMs, launches: 0, colocated: false });

const trial = ({ reference, good, bad }: Search): number =>
  reference === undefined ? 0 : Math.floor((good + bad) / 2);

function stepped(was: Search, { nowMs, high, colocated = false }: Look): Search {
  const launched = high.reduce((sum, one) => sum + (one.launches ?? 0), 0);
  // An idle phase within a trial would look like a slowdown.
  if (launched === 0) return { ...was, settling: SETTLING_LOOKS, ...trialFrom(nowMs) };
  if (was.settling > 0) return { ...was, settling: was.settling - 1, ...trialFrom(nowMs) };
  if (was.reference !== undefined && !was.colocated)
    return { ...was, ...trialFrom(nowMs), colocated };
  const now = { ...was, launches: was.launches + launched };
  const ms = nowMs - was.fromMs;
  if (ms < TRIAL_MS) return now;
  return {
    ...judge(was, (1000 * now.launches) / ms),
    settling: SETTLING_LOOKS,
    ...trialFrom(nowMs),
  };
}

function judge(was: Search, perS: number): Search {
  if (was.reference === undefined) return { ...was, reference: perS };
  const limit = trial(was);
  return perS >= (1 - LOSS) * was.reference ? { ...was, good: limit } : { ...was, bad: limit };
}
