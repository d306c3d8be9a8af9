// How well pairs are predicted and chosen, measured on tables of colocations, and a ranking of partners from a model.
export { autoregressiveFeatures } from "./autoregressive.ts";
export {
  bestOf,
  type Choice,
  choose,
  fitOf,
  ofOracle,
  regret,
  targetsOf,
} from "./evaluate.ts";
export { besideRequests } from "./pairs/beside.ts";
export {
  type Calibration,
  type Coverage,
  calibrationOf,
  expectedCoverage,
  type FigureCalibration,
} from "./pairs/calibration.ts";
export { collectPairs, reasonsIn } from "./pairs/collect.ts";
export { type HeldOut, heldOutOf } from "./pairs/held-out.ts";
export { type ClusterObjects, isOfCluster, readObjects } from "./pairs/objects.ts";
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
export { judged, type SplitFigures } from "./splits.ts";
export { type Measured, readTable } from "./table.ts";
