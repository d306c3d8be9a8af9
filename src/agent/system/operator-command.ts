// Runs a command of the operator's for events of the agent. The agent does not wait for it; if it fails, that is told.
import { execFile } from "node:child_process";
import { errors } from "#core";

/** A command that runs longer is killed. */
const LONGEST_RUN = 60_000; // ms
/** However many events there are, at most this many commands run at a time; the others wait. */
const MAX_CONCURRENT = 8;
/** If a command fails, so many characters from the end of its output are told. */
const LONGEST_WORDS = 300;

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns what runs the command by sh, with these variables more in its environment. */
export function operatorCommand(
  command: string,
  env: Environment,
): (facts: Environment, failed: (because: string) => void) => void {
  const waiting: (() => void)[] = [];
  let running = 0;
  const ended = () => {
    running--;
    waiting.shift()?.();
  };
  return (facts, failed) => {
    const start = () => {
      running++;
      run(command, { ...env, ...facts }, (because) => {
        if (because !== undefined) failed(because);
        ended();
      });
    };
    if (running < MAX_CONCURRENT) start();
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
