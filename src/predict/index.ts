export { accuracyOf, meanOf } from "./accuracy.ts";
export { type Colocation, type Side, sharedMetrics, soloOf } from "./data/colocations.ts";
export { pairRow } from "./data/encode.ts";
export {
  type Features,
  isMetric,
  type MetricName,
  metricNames,
  profileFeatures,
  xuMetrics,
} from "./data/metrics.ts";
export type { Prediction, Predictor, SmShares } from "./data/predictor.ts";
export { together } from "./data/several.ts";
export { standardise, standardOf } from "./data/standard.ts";
export { accounted } from "./gaussian/account.ts";
export {
  type LearnerName,
  learnerNames,
  learners,
  regressors,
  type Training,
} from "./learners.ts";
export { formatModel, type Model, openModel, parseModel, train } from "./model.ts";
export type { Regressor } from "./regress/regressor.ts";
export { betterIn } from "./rule/bootstrap.ts";
export {
  type BusyPair,
  COVERAGE,
  type FittedRule,
  fitRule,
  logSlowdownRule,
  type MeasuredBusyPair,
  MIN_PAIRS,
  type RuleOf,
  retainedRule,
  slowdownRule,
} from "./rule/rule.ts";
export {
  type DecidedBy,
  type LearnedPair,
  type TrainedForecast,
  trainForecast,
} from "./rule/training.ts";
export { neighboursOf } from "./sides/sides.ts";
