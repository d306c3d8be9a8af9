import { conformalQuantile, type Random, shuffle } from "#core";
import type { Colocation, Side } from "../data/colocations.ts";
import { sideRow } from "../data/encode.ts";
import type { Features, MetricName } from "../data/metrics.ts";
import { INTERVAL, type Predictor, type SmShares } from "../data/predictor.ts";
import { alone } from "../data/several.ts";
import { type Standard, standardise, standardOf } from "../data/standard.ts";
import { familiarity } from "../likeness/familiar.ts";
import type { Progress, Regressor } from "../regress/regressor.ts";

export interface SidesState {
  readonly standard: Standard;
  readonly regression: unknown;
  readonly deviation: number;
  readonly halfWidth: number;
  readonly workloads: readonly (readonly number[])[];
}

const HELD_BACK = 0.25;

export function trainSides<State>(
  regressor: Regressor<State>,
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  random: Random,
  told: Progress = () => {},
): SidesState {
  const mixed = shuffle(rows, random);
  const back = Math.max(1, Math.round(HELD_BACK * mixed.length));
  const early = fitSides(regressor, mixed.slice(back), metrics, random, (part) => told(part / 2));
  const predict = regressor.open(early.regression);
  const held = samples(mixed.slice(0, back), metrics);
  const errors = held.y.map((value, i) =>
    Math.abs(predict(standardise(early.standard, held.x[i] ?? [])) - value),
  );
  errors.sort();
  const { standard, regression } = fitSides(regressor, rows, metrics, random, (part) =>
    told((1 + part) / 2),
  );
  const all = new Set(rows.flatMap(({ sides }) => sides.map(({ features }) => features)));
  return {
    standard,
    regression,
    deviation: Math.sqrt(errors.reduce((sum, one) => sum + one * one, 0) / errors.length),
    halfWidth: conformalQuantile(errors, INTERVAL),
    workloads: [...all].map((features) => metrics.map((name) => features[name] as number)),
  };
}

function fitSides<State>(
  regressor: Regressor<State>,
  rows: readonly Colocation[],
  metrics: readonly MetricName[],
  random: Random,
  told: Progress,
) {
  const { x, y } = samples(rows, metrics);
  const standard = standardOf(x);
  const regression = regressor.learn(
    x.map((row) => standardise(standard, row)),
    y,
    random,
    told,
  );
  return { standard, regression };
}

function samples(rows: readonly Colocation[], metrics: readonly MetricName[]) {
  const each = rows.flatMap(({ sides }) =>
    sides.map((side) => ({ side, ...neighboursOf(side, sides) })),
  );
  return {
    x: each.map(({ side, others, shares }) => sideRow(side.features, others, metrics, shares)),
    y: Float64Array.from(each, ({ side }) => side.retained),
  };
}

export function neighboursOf(
  side: Side,
  sides: readonly Side[],
): { readonly others: readonly Features[]; readonly shares: SmShares } {
  const neighbours = sides.filter((other) => other !== side);
  return {
    others: neighbours.map(({ features }) => features),
    shares: { target: side.smShare, others: neighbours.map(({ smShare }) => smShare) },
  };
}

export function openSides<State>(
  regressor: Regressor<State>,
  state: SidesState,
  metrics: readonly MetricName[],
): Predictor {
  const predict = regressor.open(state.regression as State);
  const known = state.workloads.map(
    (values): Features => Object.fromEntries(metrics.map((name, k) => [name, values[k]])),
  );
  const isFamiliar = familiarity(known, metrics);
  return {
    predict(target, others, shares) {
      const familiar = isFamiliar(target) && others.every(isFamiliar);
      if (others.length === 0) return alone(familiar);
      const row = sideRow(target, others, metrics, shares);
      const retained = Math.max(0, predict(standardise(state.standard, row)));
      return {
        retained,
        uncertainty: state.deviation,
        low: Math.max(0, retained - state.halfWidth),
        high: retained + state.halfWidth,
        familiar,
      };
    },
  };
}
