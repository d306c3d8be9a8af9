// Cotenant in a Kubernetes cluster.
export { type AdmissionServer, serveAdmission } from "./admission/server.ts";
export { CLASS_ANNOTATION } from "./names.ts";
