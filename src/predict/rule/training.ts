// Trains the forecast of one figure on the pairs of a cluster: the rule, and a model that adds what workloads have shown. The
// model decides only while it is shown to err less.
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

/** A measured pair of two workloads. */
export interface LearnedPair extends MeasuredBusyPair {
  /** The true value is at least this: the pair was parted before more was measured. */
  readonly isCensored: boolean;
}

/** `prior`: too few pairs were measured. */
export type DecidedBy = "prior" | "rule" | "model";

export interface TrainedForecast {
  predict(pair: BusyPair): Bounded;
  readonly by: DecidedBy;
  /** Pairs of workloads that were learned from. */
  readonly pairs: number;
  /** Mean errors for pairs of which one workload was held out. undefined for the prior. */
  readonly errors: { readonly rule: number; readonly model: number } | undefined;
  /** Part of the resamples in which the model errs less; undefined for the prior. */
  readonly betterIn: number | undefined;
  /** Successive trainings, with this one, at which the model was better. */
  readonly wins: number;
}

/** The model decides if it errs less in this part of the resamples … */
const MIN_BETTER = 0.95;
/** … at this many successive trainings. */
const MIN_WINS = 2;
/** Parts in which pairs are left out where both of their workloads are known. */
const FOLDS = 10;
/** The time for which a pair is measured until its own measurement counts as much as what others say, s. */
const TRUST_SECONDS = 600;

/**
 * `pairs`: one for each two workloads. `winsBefore`: of the training before. Held out are all pairs of a service, or all of a
 * job, and never a row. Costs a fit for each workload.
 */
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
        low: Math.max(of.least, value - (1 - weight) * below),
        high: Math.min(of.most, value + (1 - weight) * above),
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

/** Values for each pair, in their order, without all pairs of its service, of its job, of both, and without its fold. */
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

/** The workloads of a pair of which other pairs were measured. */
type Knowledge = "none" | "service" | "job" | "both";

const knowledgeOf = (effects: Effects, { service, job }: BusyPair): Knowledge => {
  const [isService, isJob] = [effects.ofService(service), effects.ofJob(job)];
  if (isService === undefined) return isJob === undefined ? "none" : "job";
  return isJob === undefined ? "service" : "both";
};

type Reach = Readonly<Record<Knowledge, readonly [below: number, above: number]>>;

/**
 * How far truths are below and above what held-out predictions say: each bound holds in COVERAGE of the cases in which as much is
 * known as here.
 */
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

/** A prediction above what a parted pair has shown is no error. */
const off = ({ value, isCensored }: LearnedPair, predicted: number): number =>
  isCensored ? Math.max(0, value - predicted) : Math.abs(value - predicted);

const mean = (values: readonly number[] = []): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
