interface Trial<C> {
  readonly retained: number;
  readonly at: number;
  readonly conditions: C;
}

export type Trials<C> = ReadonlyMap<string, Trial<C>>;

export interface TrialBook<C> {
  add(workload: string, beside: string, trial: Trial<C>): void;
  of(workload: string, now: number): Trials<C>;
}

const MAX_REMEMBERED = 20_000;
/** After this time the service may be another version. */
const REMEMBERED_MS = 24 * 3_600_000;

export function trialBook<C>(): TrialBook<C> {
  const byWorkload = new Map<string, Map<string, Trial<C>>>();
  const none: Trials<C> = new Map();
  return {
    add(workload, beside, trial) {
      const trials = byWorkload.get(workload) ?? new Map<string, Trial<C>>();
      byWorkload.delete(workload);
      byWorkload.set(workload, trials.set(beside, trial));
      const [oldest] = byWorkload.keys();
      if (byWorkload.size > MAX_REMEMBERED && oldest !== undefined) byWorkload.delete(oldest);
    },
    of(workload, now) {
      const trials = byWorkload.get(workload);
      if (trials === undefined) return none;
      for (const [beside, { at }] of trials) if (now - at > REMEMBERED_MS) trials.delete(beside);
      return trials;
    },
  };
}
