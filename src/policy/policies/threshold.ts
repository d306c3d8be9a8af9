// Orion, section 5.1.1: for a high job that trains, SM_THRESHOLD is found by binary search on that job's
// throughput, between zero and more SMs than any kernel needs (here the GPU's, since the gate counts no
// kernel as larger). The throughput with threshold 0 is what the others are held against: whoever trains is
// always active, so nothing runs concurrently with it then.
import type { Look, Memory, MeteredHigh } from "../contract/policy.ts";

export interface ThresholdMemory extends Memory {
  /** In force; undefined: Orion's default. */
  readonly smLimit: number | undefined;
  readonly search: Search | undefined;
}

interface Search {
  readonly ids: string;
  /** Launches a second with threshold 0; undefined until it was seen. */
  readonly reference: number | undefined;
  /** The highest threshold that was good enough, the lowest that was not. */
  readonly good: number;
  readonly bad: number;
  /** Samples left in which bursts end that began under other parameters. */
  readonly settling: number;
  readonly fromMs: number;
  /** Since then. */
  readonly launches: number;
  /** Best-effort work ran, if only minimum progress: the trial began with it. */
  readonly colocated: boolean;
}

/** The paper does not say what the search asks for; its high jobs keep within 16 % of what they do alone. */
const LOSS = 0.16;
/** Launches tell how fast it gets on: bursts may be ten iterations each. */
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

/** The threshold in force: zero first, then halfway, in the end the highest that is good enough. */
const trial = ({ reference, good, bad }: Search): number =>
  reference === undefined ? 0 : Math.floor((good + bad) / 2);

function stepped(was: Search, { nowMs, high, colocated = false }: Look): Search {
  const launched = high.reduce((sum, one) => sum + (one.launches ?? 0), 0);
  // An idle phase within a trial would look like a slowdown.
  if (launched === 0) return { ...was, settling: SETTLING_LOOKS, ...trialFrom(nowMs) };
  if (was.settling > 0) return { ...was, settling: was.settling - 1, ...trialFrom(nowMs) };
  // With nobody there every threshold is good. Where one lets nothing pass there is still minimum progress.
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
