export type { BodyOptions } from "./body.ts";
export { figuresOf } from "./figures.ts";
export { parseLengths } from "./lengths.ts";
export { parseLlmObjective } from "./objectives.ts";
export { type PlanOptions, planOf } from "./plan.ts";
export { play } from "./play.ts";
export { llmReport } from "./report.ts";
export { endpoint, firstModel, parseServer } from "./server.ts";
