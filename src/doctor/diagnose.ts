import { checkAgent } from "./checks/agent.ts";
import { checkRunDirectory } from "./checks/directory.ts";
import { checkPreloads, checkReplicas, checkSwitch, checkTools } from "./checks/environment.ts";
import {
  checkClocks,
  checkCombination,
  checkContexts,
  checkDivision,
  checkDriver,
  checkPersistence,
} from "./checks/gpu.ts";
import { checkHooks, checkLibrary } from "./checks/library.ts";
import { checkMps, checkOtherMps } from "./checks/mps.ts";
import { checkLockedMemory, checkPidNamespace } from "./checks/process.ts";
import { checkTriton } from "./checks/triton.ts";
import type { Finding } from "./facts/finding.ts";
import type { Surroundings } from "./facts/surroundings.ts";

type Check = (
  around: Surroundings,
) => Finding | readonly Finding[] | Promise<Finding | readonly Finding[]>;

const checks: readonly Check[] = [
  checkDriver,
  checkCombination,
  checkDivision,
  checkContexts,
  checkPersistence,
  checkClocks,
  checkLibrary,
  checkHooks,
  checkOtherMps, // before the check that starts a daemon
  checkMps,
  checkSwitch,
  checkPreloads,
  checkTools,
  checkReplicas,
  checkPidNamespace,
  checkLockedMemory,
  checkRunDirectory,
  checkAgent,
  checkTriton,
];

/** Some checks start programs on the GPU, so they run one after the other. */
export async function diagnose(around: Surroundings): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) findings.push(...[await check(around)].flat());
  return findings;
}
