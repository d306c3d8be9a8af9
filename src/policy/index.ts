export type { Memory } from "./memory.ts";
export { policies, policyNamed } from "./policies.ts";
export {
  type LookedHigh,
  type Objective,
  type ObjectiveState,
  type Observed,
  type Overrides,
  objectiveStates,
  type Policy,
  parseOverrides,
  type Rules,
  type SeenHigh,
  withOverrides,
} from "./policy.ts";
