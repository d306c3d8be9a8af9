export { assign, totalWeight, type WeightMatrix } from "./assignment.ts";
export { type Decision, type DecisionInput, decide } from "./decide.ts";
export { type DailyForecast, dailyForecast } from "./forecast.ts";
export { assignGreedily } from "./greedy.ts";
export type { KeptPlace } from "./kept.ts";
export { assignKinds, type KindsProblem } from "./kinds.ts";
export { allows, DEFAULT_LIMITS, type Limits } from "./limits.ts";
export { type Candidate, match, type Seat, type Weigh } from "./match.ts";
export type { Losing, Movable, Move } from "./moves.ts";
export {
  bestOffer,
  expectedResponse,
  type Offer,
  type PairForecast,
  responseGrowth,
  STABLE_LOAD,
  statedLoad,
  worthOf,
} from "./offer.ts";
export { UNMATCHED } from "./paths.ts";
export {
  type Learned,
  learning,
  NEVER_MEASURED,
  type Ratios,
  ratiosOf,
} from "./ratios.ts";
export { complementShare, SHARE_STEP, shareOut } from "./share.ts";
export { type Gpu, type Job, occupy, type Rules, weightOf } from "./state.ts";
export { type TrialBook, type Trials, trialBook } from "./tried.ts";
