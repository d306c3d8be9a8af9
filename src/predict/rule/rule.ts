// A monotone function of the sum of busy shares is fitted to a cluster's pairs.
import { fitMonotone } from "./monotone.ts";

export interface BusyPair {
  readonly service: string;
  readonly job: string;
  /** It is the part of the time in which a request is served, 0 to 1. */
  readonly load: number;
  /** GPU time of the job's kernels a second while it has the GPU by itself. */
  readonly soloBusy: number;
}

/** Pairs of the same two workloads are one, as they are no independent evidence. */
export interface MeasuredBusyPair extends BusyPair {
  readonly value: number;
  readonly seconds: number;
}

export interface RuleOf {
  readonly direction: "rising" | "falling";
  readonly least: number;
  readonly most: number;
  prior(pair: BusyPair): number;
}

/** The prior is the turn bound. */
export const retainedRule: RuleOf = {
  ...{ direction: "falling", least: 0, most: 1 },
  prior: ({ load }) => 1 - load,
};

/** Addends to the logarithm multiply slowdowns. */
export const logSlowdownRule: RuleOf = {
  ...{ direction: "rising", least: 0, most: Number.POSITIVE_INFINITY },
  prior: () => 0,
};

/** The prior is that the policy of the agent protects the service. */
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
  /** Each measured pair is predicted without all pairs of its service or of its job. */
  readonly heldOut: readonly Bounded[];
  readonly isPrior: boolean;
}

export const MIN_PAIRS = 20;
export const COVERAGE = 0.9;

/**
 * The jackknife has these bounds (Barber et al., Predictive inference with the jackknife+, 2021).
 * Workloads are held out, not rows, because a new pair brings a workload that was not measured.
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

/** It has the rank (n + 1) x COVERAGE of n, rounded up; infinite if there are fewer. */
export function conformal(errors: readonly number[]): number {
  const rank = Math.ceil((errors.length + 1) * COVERAGE);
  return [...errors].sort((one, other) => one - other)[rank - 1] ?? Number.POSITIVE_INFINITY;
}
