// The model adds what workloads have shown, and decides only while it is shown to err less.
import { betterIn } from "./bootstrap.ts";
import { type Effects, fitEffects } from "./effects.ts";
import {
  type Bounded,
  type BusyPair,
  conformal,
  type MeasuredBusyPair,
  MIN_PAIRS,
  type RuleOf,
  valueBy,
} from "./rule.ts";

export interface LearnedPair extends MeasuredBusyPair {
  /** The true value is at least this: the pair was parted before more was measured. */
  readonly isCensored: boolean;
  /** By how much each later measurement of the pair was above the mean of the earlier ones. */
  readonly again: readonly number[];
}

export type DecidedBy = "prior" | "rule" | "model";

export interface TrainedForecast {
  predict(pair: BusyPair): Bounded;
  readonly by: DecidedBy;
  readonly pairs: number;
  /** One workload of each pair was held out; undefined for the prior. */
  readonly errors: { readonly rule: number; readonly model: number } | undefined;
  /** It is the part of the resamples in which the model errs less; undefined for the prior. */
  readonly betterIn: number | undefined;
  readonly wins: number;
}

/** The model decides if it errs less in this part of the resamples, MIN_WINS times in a row. */
const MIN_BETTER = 0.95;
const MIN_WINS = 2;
const FOLDS = 10;
/**
 * After this time a pair's own measurement counts as much as what others say. The same pair measured again differs by a
 * third of what it differs from the line on busy shares, or less (docs/results/prediction.md).
 */
const TRUST_SECONDS = 60;

/** `pairs`: one for each two workloads. All pairs of a service or a job are held out at once. */
export function trainForecast(
  pairs: readonly LearnedPair[],
  of: RuleOf,
  winsBefore = 0,
): TrainedForecast {
  const known = new Map(pairs.map((pair) => [keyOf(pair), pair]));
  if (pairs.length < MIN_PAIRS) {
    const whole = (value: number): Bounded => ({ value, low: of.least, high: of.most });
    return {
      ...{ by: "prior", pairs: pairs.length, errors: undefined, betterIn: undefined, wins: 0 },
      predict: (pair) => whole(of.prior(pair)),
    };
  }
  const all = fitted(pairs, of);
  const without = heldOutOf(pairs, of);
  const errors = {
    rule: pairs.map((pair, i) => mean(without.workload[i]?.map(({ rule }) => off(pair, rule)))),
    model: pairs.map((pair, i) => mean(without.workload[i]?.map(({ model }) => off(pair, model)))),
  };
  const better = betterIn(errors.model, errors.rule);
  const wins = better >= MIN_BETTER ? winsBefore + 1 : 0;
  const by = wins >= MIN_WINS ? "model" : "rule";
  const reach = distances(pairs, without, by);
  const [belowAgain, aboveAgain] = distancesAgain(pairs);
  return {
    ...{ by, pairs: pairs.length, betterIn: better, wins },
    errors: { rule: mean(errors.rule), model: mean(errors.model) },
    predict(pair) {
      const expected = by === "model" ? all.model(pair) : all.rule(pair);
      const [below, above] = by === "model" ? reach[knowledgeOf(all.effects, pair)] : reach.none;
      const own = known.get(keyOf(pair));
      const weight = own ? own.seconds / (own.seconds + TRUST_SECONDS) : 0;
      const value = clip(of, own ? weight * own.value + (1 - weight) * expected : expected);
      return {
        value,
        low: Math.max(of.least, value - (1 - weight) * below - weight * belowAgain),
        high: Math.min(of.most, value + (1 - weight) * above + weight * aboveAgain),
      };
    },
  };
}

const keyOf = ({ service, job }: BusyPair): string => `${service}\n${job}`;

const clip = (of: RuleOf, value: number): number => Math.min(of.most, Math.max(of.least, value));

interface Fitted {
  readonly effects: Effects;
  rule(pair: BusyPair): number;
  model(pair: BusyPair): number;
}

function fitted(pairs: readonly LearnedPair[], of: RuleOf): Fitted {
  const rule = valueBy(pairs, of);
  const effects = fitEffects(pairs, rule);
  return {
    ...{ rule, effects },
    model(pair) {
      const { service, job } = pair;
      return clip(of, rule(pair) + (effects.ofService(service) ?? 0) + (effects.ofJob(job) ?? 0));
    },
  };
}

interface Values {
  readonly rule: number;
  readonly model: number;
}

/** Values are in the order of the pairs; `itself` is without the pair's fold. */
interface HeldOut {
  readonly workload: readonly (readonly [noService: Values, noJob: Values])[];
  readonly both: readonly Values[];
  readonly itself: readonly Values[];
}

function heldOutOf(pairs: readonly LearnedPair[], of: RuleOf): HeldOut {
  const fitWithout = (isOut: (pair: LearnedPair) => boolean): Fitted =>
    fitted(
      pairs.filter((pair) => !isOut(pair)),
      of,
    );
  const byService = new Map<string, Fitted>();
  const byJob = new Map<string, Fitted>();
  for (const { service, job } of pairs) {
    if (!byService.has(service))
      byService.set(
        service,
        fitWithout((one) => one.service === service),
      );
    if (!byJob.has(job))
      byJob.set(
        job,
        fitWithout((one) => one.job === job),
      );
  }
  const foldOf = new Map(pairs.map((pair, i) => [pair, i % FOLDS]));
  const byFold = Array.from({ length: FOLDS }, (_, fold) =>
    fitWithout((one) => foldOf.get(one) === fold),
  );
  const values = (fit: Fitted | undefined, pair: LearnedPair): Values => ({
    rule: fit?.rule(pair) ?? of.prior(pair),
    model: fit?.model(pair) ?? of.prior(pair),
  });
  return {
    workload: pairs.map((pair) => [
      values(byService.get(pair.service), pair),
      values(byJob.get(pair.job), pair),
    ]),
    both: pairs.map((pair) => {
      const rest = pairs.filter((one) => one.service !== pair.service && one.job !== pair.job);
      const value = valueBy(rest, of)(pair);
      return { rule: value, model: value };
    }),
    itself: pairs.map((pair, i) => values(byFold[i % FOLDS], pair)),
  };
}

type Knowledge = "none" | "service" | "job" | "both";

const knowledgeOf = (effects: Effects, { service, job }: BusyPair): Knowledge => {
  const [isService, isJob] = [effects.ofService(service), effects.ofJob(job)];
  if (isService === undefined) return isJob === undefined ? "none" : "job";
  return isJob === undefined ? "service" : "both";
};

type Reach = Readonly<Record<Knowledge, readonly [below: number, above: number]>>;

/** Each bound holds in COVERAGE of the cases in which as much is known as here. */
function distances(
  pairs: readonly LearnedPair[],
  { workload, both, itself }: HeldOut,
  by: "rule" | "model",
): Reach {
  const of = (values: readonly (Values | undefined)[]) => {
    const errors = pairs.map(({ value }, i) => value - (values[i]?.[by] ?? Number.NaN));
    const bound = (some: readonly number[]) => Math.max(0, conformal(some));
    return [bound(errors.map((error) => -error)), bound(errors)] as const;
  };
  return {
    none: of(both),
    service: of(workload.map(([, noJob]) => noJob)),
    job: of(workload.map(([noService]) => noService)),
    both: of(itself),
  };
}

/** A pair that was measured differs when it is measured again. The largest error bounds while there are few, 0 without any. */
function distancesAgain(pairs: readonly LearnedPair[]): readonly [below: number, above: number] {
  const errors = pairs.flatMap(({ again }) => again);
  const bound = (some: readonly number[]) =>
    Math.max(0, Math.min(conformal(some), Math.max(0, ...some)));
  return [bound(errors.map((error) => -error)), bound(errors)];
}

/** A prediction above what a parted pair has shown is no error. */
const off = ({ value, isCensored }: LearnedPair, predicted: number): number =>
  isCensored ? Math.max(0, value - predicted) : Math.abs(value - predicted);

const mean = (values: readonly number[] = []): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
