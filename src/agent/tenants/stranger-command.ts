// What the agent does about each stranger: a line in the log, or the operator's command (`up --on-stranger`).
import { execFile } from "node:child_process";
import { errors } from "#core";
import type { Log } from "../log.ts";
import { describeIdentity } from "./identity.ts";
import type { Stranger } from "./strangers.ts";

/** The value that means: only a line in the log. */
export const WARN = "warn";

/** A command that runs longer is killed. */
const LONGEST_RUN = 60_000; // ms
/** A user who starts many strangers causes at most this many commands at a time. */
const MOST_AT_ONCE = 8;
/** If a command fails, so many characters from the end of its output are logged. */
const LONGEST_WORDS = 300;

/** The agent does not wait for the command. If it fails, that is logged. */
export function strangerReporter(
  command: string,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): (stranger: Stranger & { readonly gpu: string }) => void {
  const waiting: (() => void)[] = [];
  let running = 0;
  const ended = () => {
    running--;
    waiting.shift()?.();
  };
  return ({ pid, name, gpu, identity }) => {
    const of = identity ? { of: describeIdentity(identity) } : {};
    log("stranger", { pid, name, gpu, ...of, because: "it holds no slot, so it is not gated" });
    if (command === WARN) return;
    const facts = {
      COTENANT_STRANGER_PID: String(pid),
      COTENANT_STRANGER_UID: String(identity?.uid ?? ""),
      COTENANT_STRANGER_CONTAINER: identity?.container ?? "",
      COTENANT_STRANGER_POD: identity?.pod ?? "",
      COTENANT_STRANGER_GPU: gpu,
    };
    const failed = (because: string) => log("stranger command failed", { pid, gpu, because });
    const start = () => {
      running++;
      run(command, { ...env, ...facts }, (because) => {
        if (because !== undefined) failed(because);
        ended();
      });
    };
    if (running < MOST_AT_ONCE) start();
    else waiting.push(start);
  };
}

/** Calls `ended` once, with the reason if the command failed. */
function run(
  command: string,
  env: NodeJS.ProcessEnv,
  ended: (because: string | undefined) => void,
): void {
  try {
    const options = { env, timeout: LONGEST_RUN };
    const child = execFile("/bin/sh", ["-c", command], options, (error, _, said) => {
      const how = error?.killed ? "it was killed" : `it ended with ${error?.code ?? error?.signal}`;
      ended(error ? `${how}: ${said.trim().slice(-LONGEST_WORDS)}` : undefined);
    });
    child.stdin?.end();
  } catch (error) {
    ended(errors.whyOf(error));
  }
}
