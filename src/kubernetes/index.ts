// Cotenant in a Kubernetes cluster.
export { serveAdmission } from "./admission/server.ts";
export { accessOf } from "./api/access.ts";
export { type Api, ApiError, connect } from "./api/client.ts";
export { accessFromKubeconfig } from "./api/kubeconfig.ts";
export { type Watched, watched } from "./api/watched.ts";
export { install } from "./install/install.ts";
export { chartObjects, type Values } from "./install/objects.ts";
export { uninstall } from "./install/uninstall.ts";
// The decision itself, for measurements and the simulator.
export { forecasts, learning } from "./manager/forecast.ts";
export { manage } from "./manager/manager.ts";
export { moveCostSeconds } from "./manager/moves/moves.ts";
export { tries } from "./manager/moves/tried.ts";
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
} from "./manager/objects.ts";
export { pairingChanges, shareBeside } from "./manager/pairings.ts";
export { plan } from "./manager/plan.ts";
export { claimNameIn, isBestEffort } from "./manager/pods.ts";
export { policyOf } from "./manager/policy.ts";
export type { Noted, Seen } from "./manager/seen.ts";
// The names by which pods and claims speak to it.
export * as names from "./names.ts";
export { toldActiveShare } from "./node/gpus.ts";
export { nodePartAdvice, nodePartOf } from "./report/node-part.ts";
export { type ClusterStatus, statusOf } from "./report/status.ts";
export { whyPod } from "./report/why.ts";
