export {
  type Arrivals,
  arrivalSeconds,
  arrivalTimes,
  parseArrivals,
  scheduleArrivals,
} from "./arrivals/arrivals.ts";
export {
  type Schedule,
  type Trace,
  type TraceRequest,
  traceRequests,
  traceSchedule,
} from "./arrivals/trace.ts";
export { makeContext } from "./context.ts";
export type { ControlFiles, Part, Phase } from "./control.ts";
export { controlFiles } from "./control-files.ts";
export { driverHere, loadCuda, memoryAt } from "./cuda.ts";
export { deviceMemory, launch, openGpu, parameters, pinnedMemory, stateWords } from "./gpu.ts";
export { formatMarks, parseMarks } from "./marks.ts";
export { awaits, type Plan, type Result, type Served, shapes, type Work } from "./plan.ts";
export { announcer } from "./report-requests.ts";
export { type Run, runJob, runLoad } from "./run.ts";
export { makeStream } from "./slot.ts";
export { surroundings } from "./surroundings.ts";
