// It loads gRPC, which nothing else does: so it is apart from the rest.

export { Injector } from "./injector.ts";
export { callAt, type Served, serveAt } from "./kubelet/sockets.ts";
export { NodeMetrics } from "./metrics.ts";
export { offerGpus } from "./node.ts";
export { Publisher } from "./publish.ts";
export { VendorClaims } from "./state/claimed.ts";
export { gpusOf, type NodeGpu } from "./state/gpus.ts";
export type { NodePod } from "./state/objects.ts";
export { nodeView } from "./state/view.ts";
