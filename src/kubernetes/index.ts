export { serveAdmission } from "./admission/server.ts";
export { accessOf } from "./api/access.ts";
export { type Api, ApiError, connect } from "./api/client.ts";
export { accessFromKubeconfig } from "./api/kubeconfig.ts";
export { type Watched, watched } from "./api/watched.ts";
export { install } from "./install/install.ts";
export { chartObjects, type Values } from "./install/objects.ts";
export { uninstall } from "./install/uninstall.ts";
export * as names from "./labels/names.ts";
export type { PairFigures, PairRow } from "./labels/pair.ts";
export { claimFor } from "./manager/act.ts";
export { keepCertified } from "./manager/certified.ts";
export { PairLearner } from "./manager/learning/learner.ts";
export { manage } from "./manager/manager.ts";
export { ManagerMetrics } from "./manager/metrics.ts";
export { moveCostSeconds } from "./manager/moves/moves.ts";
export { pairingChanges, pairingWrite } from "./manager/pairings.ts";
export { plan } from "./manager/plan.ts";
export { samplerOf } from "./manager/sampler.ts";
export {
  keptClaim,
  keptNamespace,
  keptNode,
  keptPod,
  keptProfile,
  whole,
} from "./manager/state/copies.ts";
export {
  forecasts,
  type LearnedForecasts,
  type PairForecasts,
  pairsBy,
} from "./manager/state/forecast.ts";
export type {
  Claim,
  GpuNode,
  Namespace,
  Node,
  Pairing,
  Pod,
  PolicySpec,
  SharingPolicy,
  WorkloadProfile,
} from "./manager/state/objects.ts";
export { claimNameIn, isBestEffort, workloadOf } from "./manager/state/pods.ts";
export { policyOf } from "./manager/state/policy.ts";
export { predictorIn } from "./manager/state/predictor.ts";
export type { ClusterSnapshot } from "./manager/state/snapshot.ts";
export { tries } from "./manager/state/tried.ts";
export { PairRows } from "./manager/worth/pair-rows.ts";
export type { SharingReport } from "./manager/worth/reports.ts";
export { serveAsked } from "./metrics/server.ts";
export { PairSums, sampleOf } from "./node/pair-sums.ts";
export { nodePartAdvice, nodePartOf } from "./report/node-part.ts";
export { type ClusterStatus, statusOf } from "./report/status.ts";
export { whyPod } from "./report/why.ts";
export { type WorthOfNamespace, worthOf } from "./report/worth.ts";
