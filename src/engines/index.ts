export { histogramsOf, type Latency, latencies } from "./engines.ts";
export { engineMetric } from "./metric.ts";
export { enginesTable } from "./table.ts";
