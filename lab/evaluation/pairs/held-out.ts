// Whether a rule that is fitted to a cluster's pairs would predict those of other workloads better than they were predicted.
import {
  betterIn,
  type FittedRule,
  fitRule,
  type MeasuredBusyPair,
  type RuleOf,
  retainedRule,
  slowdownRule,
} from "#predict";
import { distinct } from "./collect.ts";
import { groupsOf } from "./groups.ts";
import type { ClusterPair } from "./objects.ts";

/** Errors in one figure, such as retained throughput. Each pair of workloads counts the same. */
export interface HeldOut {
  readonly of: "retained" | "slowdown";
  /** Two workloads are one pair. */
  readonly pairs: number;
  /** Too few pairs were measured: what follows is of the prior. */
  readonly isPrior: boolean;
  /** Mean of |measured - predicted|, by a rule that knows neither the pair's service nor its job. */
  readonly error: number;
  /** Part of the pairs whose measured figure is within the rule's bounds. */
  readonly covered: number;
  /** The same error of the predictions with which pods were matched; undefined: not all of them had one. */
  readonly predictedError: number | undefined;
  /** Part of the resamples of pairs (paired bootstrap) in which the rule errs less than the predictions. */
  readonly betterIn: number | undefined;
}

/** Rules of the sum of busy shares. Pairs without them, or with further jobs on the GPU, do not count. */
export function heldOutOf(all: readonly ClusterPair[]): readonly HeldOut[] {
  const usable = distinct(all).filter(
    ({ by, others, seconds, soloBusy }) =>
      by === "work" && others === 0 && seconds > 0 && soloBusy !== undefined,
  );
  const slowed = usable.filter(({ slowdown }) => slowdown !== undefined);
  return [
    judged("retained", retainedRule, usable, {
      measured: ({ retained }) => retained,
      predicted: ({ predicted }) => predicted.retained,
    }),
    judged("slowdown", slowdownRule, slowed, {
      measured: ({ slowdown = 1 }) => slowdown,
      predicted: ({ predicted }) => predicted.bursts?.slowdown,
    }),
  ].flatMap((one) => one ?? []);
}

interface Figures {
  measured(pair: ClusterPair): number;
  predicted(pair: ClusterPair): number | undefined;
}

function judged(
  of: HeldOut["of"],
  ruleOf: RuleOf,
  pairs: readonly ClusterPair[],
  { measured, predicted }: Figures,
): HeldOut | undefined {
  const groups = [...groupsOf(pairs, ({ service, job }) => `${service}\n${job}`).values()];
  if (groups.length === 0) return undefined;
  const rows = groups.map((group): MeasuredBusyPair => {
    const [{ service = "", job = "" } = {}] = group;
    return {
      ...{ service, job, value: meanOf(group, measured) ?? 0 },
      load: meanOf(group, ({ load }) => load) ?? 0,
      soloBusy: meanOf(group, ({ soloBusy }) => soloBusy) ?? 0,
      seconds: group.reduce((sum, { seconds }) => sum + seconds, 0),
    };
  });
  const { heldOut, isPrior }: FittedRule = fitRule(rows, ruleOf);
  const errors = rows.map(({ value }, i) => Math.abs(value - (heldOut[i]?.value ?? Number.NaN)));
  const before = groups.flatMap((group, i) => {
    const mean = meanOf(group, predicted);
    return mean === undefined ? [] : [Math.abs((rows[i]?.value ?? Number.NaN) - mean)];
  });
  const isPredicted = before.length === rows.length;
  const inside = rows.filter(({ value }, i) => {
    const { low = Number.NaN, high = Number.NaN } = heldOut[i] ?? {};
    return low <= value && value <= high;
  });
  return {
    ...{ of, pairs: rows.length, isPrior, error: plainMean(errors) },
    covered: inside.length / rows.length,
    predictedError: isPredicted ? plainMean(before) : undefined,
    betterIn: isPredicted ? betterIn(errors, before) : undefined,
  };
}

/** Weighted by time; undefined where one of them is. */
function meanOf(
  pairs: readonly ClusterPair[],
  of: (pair: ClusterPair) => number | undefined,
): number | undefined {
  const values = pairs.flatMap((pair) => of(pair) ?? []);
  if (values.length < pairs.length) return undefined;
  const seconds = pairs.reduce((sum, pair) => sum + pair.seconds, 0);
  return values.reduce((sum, value, i) => sum + value * (pairs[i]?.seconds ?? 0), 0) / seconds;
}

const plainMean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
