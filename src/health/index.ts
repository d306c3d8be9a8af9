export { type HealthOptions, parseHealth } from "./given.ts";
export {
  assessmentAt,
  assessmentIn,
  follow,
  type Thresholds,
  type Tracks,
  worstOf,
} from "./judge.ts";
export {
  type Assessment,
  BACK_OFF_SECONDS,
  type Health,
  healthStates,
  type Monitor,
  newMonitor,
  type Step,
  watch,
} from "./monitor.ts";
export {
  type AllLimits,
  limitsFor,
  type ReadingName,
  readingNames,
  readings,
  readingsTable,
} from "./readings.ts";
