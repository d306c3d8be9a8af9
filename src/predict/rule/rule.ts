// The rule by which pairs are forecast that no model knows: a monotone function of the sum of both busy shares, fitted to
// pairs that a cluster has measured, with conformal bounds.
import { fitMonotone } from "./monotone.ts";

/** Facts of a pair before it runs. */
export interface BusyPair {
  /** Names of the workloads. */
  readonly service: string;
  readonly job: string;
  /** Part of the time in which a request is served, 0 to 1. */
  readonly load: number;
  /** GPU time of the job's kernels a second while it has the GPU by itself. */
  readonly soloBusy: number;
}

/** A measured pair. Pairs of the same two workloads are one, as they are no independent evidence. */
export interface MeasuredBusyPair extends BusyPair {
  readonly value: number;
  /** Time for which it was measured. */
  readonly seconds: number;
}

/** A figure that a rule predicts. */
export interface RuleOf {
  /** How the value changes with the sum of the busy shares. */
  readonly direction: "rising" | "falling";
  readonly least: number;
  readonly most: number;
  /** The value where too little was measured. */
  prior(pair: BusyPair): number;
}

/** Retained throughput of the job. The prior is the turn bound. */
export const retainedRule: RuleOf = {
  ...{ direction: "falling", least: 0, most: 1 },
  prior: ({ load }) => 1 - load,
};

/** Natural logarithm of the slowdown factor: what workloads add to it multiplies slowdowns. */
export const logSlowdownRule: RuleOf = {
  ...{ direction: "rising", least: 0, most: Number.POSITIVE_INFINITY },
  prior: () => 0,
};

/** Slowdown factor of the service. The prior is that the policy of the agent protects it. */
export const slowdownRule: RuleOf = {
  ...{ direction: "rising", least: 1, most: Number.POSITIVE_INFINITY },
  prior: () => 1,
};

export interface Bounded {
  readonly value: number;
  /** They contain the truth of a new pair of workloads in COVERAGE of cases. */
  readonly low: number;
  readonly high: number;
}

export interface FittedRule {
  predict(pair: BusyPair): Bounded;
  /**
   * Predictions for the measured pairs, in their order, each by a rule that was fitted without any pair of the same service or
   * of the same job.
   */
  readonly heldOut: readonly Bounded[];
  /** It is the prior alone, because fewer than MIN_PAIRS were measured. */
  readonly isPrior: boolean;
}

/** With fewer pairs the prior is used. */
export const MIN_PAIRS = 20;
/** Part of new pairs that the bounds contain. */
export const COVERAGE = 0.9;

/**
 * The bounds are those of the jackknife (Barber et al., Predictive inference with the jackknife+, 2021): the distance that
 * held-out predictions do not exceed in COVERAGE of cases, with the correction for few cases. Workloads are held out, not
 * rows, because a new pair brings a workload that was not measured. Without enough cases, bounds are the whole range.
 */
export function fitRule(pairs: readonly MeasuredBusyPair[], of: RuleOf): FittedRule {
  const isPrior = pairs.length < MIN_PAIRS;
  const all = valueBy(isPrior ? [] : pairs, of);
  const values = pairs.map((pair) =>
    valueBy(isPrior ? [] : pairs.filter((other) => isApart(pair, other)), of)(pair),
  );
  const errors = pairs.map(({ value }, i) => Math.abs(value - (values[i] ?? Number.NaN)));
  const around = (value: number, distance: number): Bounded => ({
    value,
    low: Math.max(of.least, value - distance),
    high: Math.min(of.most, value + distance),
  });
  const distance = isPrior ? Number.POSITIVE_INFINITY : conformal(errors);
  return {
    predict: (pair) => around(all(pair), distance),
    // The pair's own error is not among those that bound it.
    heldOut: values.map((value, i) =>
      around(
        value,
        isPrior ? Number.POSITIVE_INFINITY : conformal(errors.filter((_, other) => other !== i)),
      ),
    ),
    isPrior,
  };
}

const isApart = (one: BusyPair, other: BusyPair): boolean =>
  one.service !== other.service && one.job !== other.job;

/** The fitted function alone; with fewer than half of MIN_PAIRS the prior. */
export function valueBy(
  pairs: readonly MeasuredBusyPair[],
  of: RuleOf,
): (pair: BusyPair) => number {
  // With few pairs left, some say less than the prior does.
  if (pairs.length < MIN_PAIRS / 2) return of.prior;
  const fitted = fitMonotone(
    pairs.map((pair) => ({ x: busyOf(pair), y: pair.value, weight: pair.seconds })),
    of.direction,
  );
  return (pair) => Math.min(of.most, Math.max(of.least, fitted(busyOf(pair))));
}

const busyOf = ({ load, soloBusy }: BusyPair): number => load + Math.min(1, soloBusy);

/** The error with the rank (n + 1) x COVERAGE of n, rounded up; infinite if there are fewer. */
export function conformal(errors: readonly number[]): number {
  const rank = Math.ceil((errors.length + 1) * COVERAGE);
  return [...errors].sort((one, other) => one - other)[rank - 1] ?? Number.POSITIVE_INFINITY;
}
