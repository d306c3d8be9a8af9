export { engineMetric } from "./metric.ts";
export { enginesTable } from "./table.ts";
