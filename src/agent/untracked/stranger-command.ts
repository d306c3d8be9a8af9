import type { Log } from "../log/log.ts";
import { type Environment, operatorCommand } from "../system/operator-command.ts";
import { describeIdentity } from "../tenants/identity.ts";
import type { UntrackedProcess } from "./processes.ts";

export const WARN = "warn";

/** The agent does not wait for the command; a failure is logged. */
export function strangerReporter(
  command: string,
  env: Environment,
  log: Log,
): (stranger: UntrackedProcess & { readonly gpu: string }) => void {
  const run = operatorCommand(command, env);
  return ({ pid, name, gpu, because: cause, identity }) => {
    const of = identity ? { of: describeIdentity(identity) } : {};
    log("stranger", {
      pid,
      name,
      gpu,
      ...of,
      because: `it holds no slot, so it is not gated${cause ? `: ${cause}` : ""}`,
    });
    if (command === WARN) return;
    const facts = {
      COTENANT_STRANGER_PID: String(pid),
      COTENANT_STRANGER_UID: String(identity?.uid ?? ""),
      COTENANT_STRANGER_CONTAINER: identity?.container ?? "",
      COTENANT_STRANGER_POD: identity?.pod ?? "",
      COTENANT_STRANGER_GPU: gpu,
    };
    run(facts, (because) => log("stranger command failed", { pid, gpu, because }));
  };
}
