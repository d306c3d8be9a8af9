export { type Arrangement, arrangementNamed, gatedBy } from "./arrangements.ts";
export { type Gate, openGate } from "./gate.ts";
export type { Request } from "./high.ts";
export type { Plan, Submission } from "./plan.ts";
export { planOf } from "./planning.ts";
export type { HighJob, Job } from "./players.ts";
export { type GpuModel, modelledGpus, modelOf, partitionSms } from "./presets.ts";
export { type ModelWindow, runWindow, type WindowPlan } from "./run.ts";
