// A cluster in simulation: who runs where, and what it does to everybody's latency and completion times.
export { exampleScenario } from "./input/example.ts";
export { type ClusterScenario, readClusterScenario } from "./input/scenario.ts";
export type { Figures } from "./meters.ts";
export { htmlReport } from "./report/html.ts";
export { columns, deviation, levelRows, levelTitles, mean } from "./report/summary.ts";
export { schedulers } from "./schedulers/index.ts";
export { simulate } from "./simulate.ts";
