export { accuracyOf, meanOf } from "./accuracy.ts";
export { type Colocation, type Side, sharedMetrics, soloOf } from "./colocations.ts";
export { pairRow } from "./encode.ts";
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
export type { Regressor } from "./regress/regressor.ts";
export { together } from "./several.ts";
export { neighboursOf } from "./sides.ts";
export { standardise, standardOf } from "./standard.ts";
