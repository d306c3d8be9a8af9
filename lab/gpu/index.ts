export { type Arrangement, arrangementNamed, gatedBy } from "./arrangements.ts";
export type { Request } from "./clients/high.ts";
export { type Gate, openGate } from "./gate/gate.ts";
export { HoldMachine, type HoldView } from "./gate/hold.ts";
export { planOf } from "./jobs/planning.ts";
export type { Plan, Submission } from "./model/plan.ts";
export { type GpuModel, modelledGpus, modelOf, partitionSms } from "./model/presets.ts";
export type { HighJob, Job } from "./players.ts";
export { type ModelWindow, runWindow, type WindowPlan } from "./run.ts";
