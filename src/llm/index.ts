export { type BodyOptions, MAX_PROMPT_SEED } from "./body.ts";
export { figuresOf } from "./figures.ts";
export { parseLengths } from "./lengths.ts";
export { type PlanOptions, planOf, unevenness } from "./plan.ts";
export { play } from "./play.ts";
export { prefixCacheOf, readCacheCounters } from "./prefix-cache.ts";
export { llmReport } from "./report.ts";
export { endpoint, firstModel, metricsText, parseServer } from "./server.ts";
export { parseWarmUp, warmUp } from "./warm-up.ts";
