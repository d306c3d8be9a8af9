// A simulated cluster: which job runs where, and how that changes latencies and completion times.

export { exampleScenario } from "./input/example.ts";
export { type ClusterScenario, readClusterScenario } from "./input/scenario.ts";
export { csvColumns, traceFormats } from "./input/traces.ts";
export type { Figures } from "./model/figures.ts";
export type { ClusterPlan } from "./model/plan.ts";
export { responseQuantiles } from "./model/queue-distribution.ts";
export type { Workload } from "./model/workload.ts";
export { placeInLayers, placeSeveral, type SeveralProblem } from "./placing/several.ts";
export { findings, unfinished, verdict } from "./report/findings.ts";
export { htmlReport } from "./report/html.ts";
export { columns, deviation, levelRows, levelTitles, mean } from "./report/summary.ts";
export { statedBytes } from "./schedulers/cotenant.ts";
export { schedulers } from "./schedulers/index.ts";
export { pairForecast } from "./schedulers/pairing.ts";
export type {
  JobView,
  Moment,
  Order,
  Scheduler,
  SchedulerKind,
  SeatView,
  View,
} from "./schedulers/scheduler.ts";
export { simulate, simulation } from "./simulation/simulate.ts";
