export { bestFixed, type Share } from "./best.ts";
export type { Shape, Tokens, Traffic } from "./engine.ts";
export { type Assumed, fitted, MIN_SAMPLES, type SeenRequest } from "./fit.ts";
export { Counted, TOKEN_S, TTFT_S } from "./histogram.ts";
export { mostPerS } from "./most.ts";
export {
  keptIn,
  type Outcome,
  played,
  type Run,
  violated,
  windowsOf,
} from "./played.ts";
export { recorded } from "./recorded.ts";
export { type Latencies, type Study, type StudyRow, study, usualLimits } from "./study.ts";
