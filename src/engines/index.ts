export { histogramsOf, type Latency, latencies, prefixCaches, waitingGauges } from "./engines.ts";
export { engineMetric } from "./metric.ts";
export { enginesTable } from "./table.ts";
