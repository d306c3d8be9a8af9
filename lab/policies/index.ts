export {
  arrangementHelp,
  arrangementNames,
  parseArrangement,
  type Sharing,
} from "./arrangement.ts";
export { allPolicies, comparedPolicies, runnablePolicyNamed } from "./registry.ts";
