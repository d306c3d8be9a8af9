export { type Arrangement, arrangementNamed, gatedBy } from "./arrangements.ts";
export { type Gate, openGate } from "./gate.ts";
export type { Request } from "./high.ts";
export { type Plan, planOf, type Submission } from "./plan.ts";
export type { HighJob, Job } from "./players.ts";
export { type GpuModel, modelledGpus, modelOf, partitionSms } from "./presets.ts";
export { type ModelWindow, runWindow, type WindowPlan } from "./run.ts";
