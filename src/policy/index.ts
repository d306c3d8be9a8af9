export { PolicyLoop } from "./contract/loop.ts";
export {
  objectiveTexts,
  parseObjective,
  parseRequestObjective,
  sameObjective,
} from "./contract/objective.ts";
export {
  type AloneBursts,
  type GpuUse,
  type Look,
  type Memory,
  type Metered,
  type MeteredHigh,
  type Objective,
  type ObjectiveState,
  type Observed,
  type Overrides,
  objectiveStates,
  type Policy,
  parseOverrides,
  type RareBursts,
  type SeenHigh,
  type UsualBurst,
  withOverrides,
} from "./contract/policy.ts";
export { ALLOWED } from "./evidence/evidence.ts";
export { isAboutRequestsOnly } from "./ladder/client.ts";
export { inDecodeSteps } from "./ladder/paced.ts";
export { slowdownOf } from "./ladder/yardstick.ts";
export { isBoundable, withinShare } from "./parameters/bound.ts";
export { h200 } from "./parameters/hardware.ts";
export { launchByLaunch } from "./parameters/launching.ts";
export { defaultPolicy, policies, policyNamed } from "./policies/index.ts";
export { type Recommendation, recommendMode } from "./recommend.ts";
export type { EngineStep } from "./requests/engine-step.ts";
export {
  allowedAbove,
  type LimitsUs,
  limitUsOf,
  NEAR,
  partBelow,
  quantileOf,
  type RequestCounts,
  type RequestKind,
  type RequestLimits,
  type RequestObjective,
  type RequestQuantile,
  type RequestSample,
  requestKinds,
  requestLimits,
  statedIn,
} from "./requests/requests.ts";
export { timeShare } from "./requests/slices.ts";
export { atTrueEnds } from "./requests/true-ends.ts";
