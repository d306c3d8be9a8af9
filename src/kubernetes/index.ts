// Cotenant in a Kubernetes cluster.
export { serveAdmission } from "./admission/server.ts";
export { accessOf } from "./api/access.ts";
export { type Api, ApiError, connect } from "./api/client.ts";
export { accessFromKubeconfig } from "./api/kubeconfig.ts";
export { install } from "./install/install.ts";
export { chartObjects, type Values } from "./install/objects.ts";
export { uninstall } from "./install/uninstall.ts";
export { manage } from "./manager/manager.ts";
export { JOBS_FILE, scenarioOf } from "./report/scenario.ts";
export { type ClusterStatus, statusOf } from "./report/status.ts";
export { whyPod } from "./report/why.ts";
