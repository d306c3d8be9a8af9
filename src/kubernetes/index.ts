// Cotenant in a Kubernetes cluster.
export { serveAdmission } from "./admission/server.ts";
export { accessOf } from "./api/access.ts";
export { connect } from "./api/client.ts";
export { manage } from "./manager/manager.ts";
