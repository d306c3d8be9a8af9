// Which jobs share a GPU, and on how many SMs.
export { assign, totalWeight, type WeightMatrix } from "./assignment.ts";
export { type DailyForecast, dailyForecast } from "./forecast.ts";
export { assignGreedily } from "./greedy.ts";
export { assignKinds, type KindsProblem } from "./kinds.ts";
export { type Candidate, match, type Seat, type Weigh } from "./match.ts";
export { UNMATCHED } from "./paths.ts";
export { acceptableShare, complementShare, SHARE_STEP, shareOut } from "./share.ts";
