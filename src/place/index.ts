// Which jobs share a GPU, and on how many SMs.
export { assign, totalWeight, type WeightMatrix } from "./assignment.ts";
export { type Decision, type DecisionInput, decide } from "./decision/decide.ts";
export type { KeptPlace } from "./decision/kept.ts";
export { allows, DEFAULT_LIMITS, type Limits } from "./decision/limits.ts";
export type { Losing, Movable, Move } from "./decision/moves.ts";
export {
  type Learned,
  learning,
  NEVER_MEASURED,
  type Ratios,
  ratiosOf,
} from "./decision/ratios.ts";
export { type Gpu, type Job, type Rules, weightOf } from "./decision/state.ts";
export { type TrialBook, type Trials, trialBook } from "./decision/tried.ts";
export { type DailyForecast, dailyForecast } from "./forecast.ts";
export { assignGreedily } from "./greedy.ts";
export { assignKinds, type KindsProblem } from "./kinds.ts";
export { type Candidate, match, type Seat, type Weigh } from "./match.ts";
export {
  bestOffer,
  expectedResponse,
  type Offer,
  type PairForecast,
  responseGrowth,
  STABLE_LOAD,
  statedLoad,
} from "./offer.ts";
export { UNMATCHED } from "./paths.ts";
export { complementShare, SHARE_STEP, shareOut } from "./share.ts";
