// Signals and variables that this process was started with and that Node, or the shell before it, has changed. bin/cotenant hands
// them on in two variables.
import { constants } from "node:os";

export interface Inherited {
  /** Signals that were ignored, as nohup and service managers start programs. */
  readonly ignored: readonly number[];
  /** Variables whose names are not a shell's, as those of functions that bash exports. */
  readonly variables: Readonly<Record<string, string>>;
}

const LAST_SIGNAL = 64;

/** Removes the two variables from `env`. Where a command was started by Node itself, they are not there. */
export function takeInherited(env: NodeJS.ProcessEnv): Inherited {
  const { COTENANT_IGNORED: ignored = "", COTENANT_VARIABLES: variables = "" } = env;
  delete env.COTENANT_IGNORED;
  delete env.COTENANT_VARIABLES;
  return { ignored: signalsIn(ignored), variables: variablesIn(variables) };
}

/** The signals in the mask of a line of /proc/PID/status, where bit 0 is signal 1. */
function signalsIn(line: string): readonly number[] {
  const bits = BigInt(`0x${/^SigIgn:\s*([0-9a-f]{1,16})$/.exec(line)?.[1] ?? 0}`);
  return Array.from({ length: LAST_SIGNAL }, (_, i) => i + 1).filter(
    (signal) => (bits >> BigInt(signal - 1)) % 2n === 1n,
  );
}

const variablesIn = (base64: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Buffer.from(base64, "base64")
      .toString()
      .split("\0")
      .filter((one) => one.includes("="))
      .map((one) => [one.slice(0, one.indexOf("=")), one.slice(one.indexOf("=") + 1)]),
  );

/** Signals that Node ignores by itself. What is ignored stays ignored across exec. */
export const ignoredByNode: readonly number[] = [
  constants.signals.SIGPIPE,
  constants.signals.SIGXFSZ,
];
