export { policies, policyNamed } from "./policies.ts";
export {
  type Observed,
  type Overrides,
  type Policy,
  parseOverrides,
  type Rules,
  type SeenHigh,
  withOverrides,
} from "./policy.ts";
