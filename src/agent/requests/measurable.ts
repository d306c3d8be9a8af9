// Where a limit lies below the histogram's first bound, the sum shows only how many values may be
// above it. If that leaves open whether too many are, the objective is not measurable, and the
// service has full protection.
import { micros } from "#core";
import { allowedAbove, type RequestKind, type RequestQuantile } from "#policy";
import type { Judged } from "./judge.ts";

interface Certainty {
  readonly values: number;
  readonly surelyAbove: number;
  readonly unsure: number;
  readonly unsummed: number;
  readonly quantile: RequestQuantile;
  readonly firstBoundUs: number | undefined;
  readonly limitUs: number;
}

export type Certainties = Readonly<Partial<Record<RequestKind, Certainty>>>;

/** With more values, half is forgotten: 1 % of them is still a few. */
const MAX_VALUES = 600;

export function withCertainty(was: Certainties, judged: readonly Judged[]): Certainties {
  const changed = judged.flatMap((one): [RequestKind, Certainty][] => {
    const { kind, quantile, limitUs, firstBoundUs, unsure, counts } = one;
    if (counts.values === 0 || limitUs === Number.POSITIVE_INFINITY) return [];
    const before = was[kind] ?? { values: 0, surelyAbove: 0, unsure: 0, unsummed: 0 };
    const keep = before.values > MAX_VALUES ? 0.5 : 1;
    const certainty = {
      values: keep * before.values + counts.values,
      surelyAbove: keep * before.surelyAbove + counts.above - unsure,
      unsure: keep * before.unsure + unsure,
      unsummed: keep * before.unsummed + (counts.sumUs === undefined ? counts.values : 0),
      quantile,
      firstBoundUs,
      limitUs,
    };
    return [[kind, certainty]];
  });
  return changed.length === 0 ? was : { ...was, ...Object.fromEntries(changed) };
}

/** These times follow from an engine's steps (decision 0031). */
const ofSteps: readonly string[] = ["tpot", "itl"] satisfies RequestKind[];

/** `stepsSeen`: steps bound what histograms of tokens leave open. */
export function whyNotMeasurable(certainties: Certainties, stepsSeen = false): string | undefined {
  for (const [kind, one] of Object.entries(certainties)) {
    const { values, surelyAbove, unsure, unsummed, quantile, firstBoundUs, limitUs } = one;
    if (quantile === "mean") {
      if (unsummed > 0) return `its histogram of ${kind} has no sum, so a mean is not measurable`;
      continue;
    }
    if (isBoundBySteps(kind, stepsSeen)) continue;
    const allowed = allowedAbove(quantile) * values;
    if (surelyAbove > allowed || surelyAbove + unsure <= allowed) continue;
    return firstBoundUs === undefined || firstBoundUs === Number.POSITIVE_INFINITY
      ? `its ${kind} has a sum and a count but no bounds, so a ${quantile} is not measurable`
      : `its histogram of ${kind} begins at ${micros(firstBoundUs)}, so a ${quantile} of ${micros(limitUs)} is not measurable: state ${micros(firstBoundUs)} or more, or the mean`;
  }
  return undefined;
}

export const isBoundBySteps = (kind: string, stepsSeen: boolean): boolean =>
  stepsSeen && ofSteps.includes(kind);
