export { type Arrangement, arrangementNamed, gatedBy } from "./arrangements.ts";
export type { Request } from "./clients/high.ts";
export { type Gate, openGate } from "./gate.ts";
export { HoldMachine, type HoldView, holdAction, nextLook, turnAction } from "./hold.ts";
export { planOf } from "./jobs/planning.ts";
export type { Plan, Submission } from "./plan.ts";
export type { HighJob, Job } from "./players.ts";
export { type GpuModel, modelledGpus, modelOf, partitionSms } from "./presets.ts";
export { type ModelWindow, runWindow, type WindowPlan } from "./run.ts";
