// Measured retained throughput of workloads beside services. It corrects forecasts of the workload's next jobs beside the
// same service, and beside others.

/** A job was measured beside a service. */
interface Trial<C> {
  /** Retained throughput, 0 to 1. */
  readonly retained: number;
  /** When it was measured last, ms. */
  readonly at: number;
  /** Conditions of the measurement, for which a forecast can be asked again. */
  readonly conditions: C;
}

/** Trials of one workload, by service. */
export type Trials<C> = ReadonlyMap<string, Trial<C>>;

export interface TrialBook<C> {
  add(workload: string, beside: string, trial: Trial<C>): void;
  /** `now`: ms, of the clock of the trials. */
  of(workload: string, now: number): Trials<C>;
}

/** Workloads are forgotten from the oldest on. */
const MAX_REMEMBERED = 20_000;
/**
 * Time after the last job beside a service until its measurements are dropped: the service may be another version by
 * then.
 */
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
