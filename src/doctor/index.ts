export { checkMps } from "./checks/mps.ts";
export { diagnose } from "./diagnose.ts";
export type { Finding, Verdict } from "./finding.ts";
export { surroundingsHere } from "./surroundings.ts";
export { testedCombinations, testedTable } from "./tested.ts";
