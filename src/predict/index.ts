export { autoregressiveFeatures } from "./autoregressive.ts";
export { type Colocation, type Side, sharedMetrics } from "./colocations.ts";
export {
  accuracyOf,
  bestOf,
  type Choice,
  choose,
  fitOf,
  meanOf,
  ofOracle,
  regret,
  targetsOf,
} from "./evaluate.ts";
export { accounted } from "./gaussian/account.ts";
export {
  type LearnerName,
  learnerNames,
  learners,
  regressors,
  type Training,
} from "./learners.ts";
export {
  type Features,
  isMetric,
  type MetricName,
  metricNames,
  profileFeatures,
  xuMetrics,
} from "./metrics.ts";
export { formatModel, type Model, openModel, parseModel, train } from "./model.ts";
export type { Prediction, Predictor, SmShares } from "./predictor.ts";
export { type Ranked, rank, type Workload } from "./rank.ts";
export {
  type Goal,
  goals,
  listScore,
  popularity,
  predictedScore,
  regressedScore,
  rules,
  type Score,
  worthOf,
} from "./scores.ts";
export { together } from "./several.ts";
export { judged, type SplitFigures } from "./splits.ts";
export { type Measured, readTable } from "./table.ts";
