import { execFile } from "node:child_process";
import { errors } from "#core";

const LONGEST_RUN = 60_000; // ms
const MAX_CONCURRENT = 8;
const LONGEST_WORDS = 300;

export type Environment = Readonly<Record<string, string | undefined>>;

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
