export { checkMps } from "./checks/mps.ts";
export { diagnose } from "./diagnose.ts";
export type { Finding, Verdict } from "./facts/finding.ts";
export { surroundingsHere } from "./facts/surroundings.ts";
export { testedCombinations, testedTable } from "./facts/tested.ts";
