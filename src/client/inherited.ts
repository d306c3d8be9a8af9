// Signals and variables that this process was started with and that Node, or the shell before it, has changed, and the launcher
// that asks this process. bin/cotenant and native/launcher hand them on in variables.
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { encodeAnswer, type LaunchAnswer } from "#agent";

export interface Inherited {
  /** Signals that were ignored, as nohup and service managers start programs. */
  readonly ignored: readonly number[];
  /** Variables whose names are not a shell's, as those of functions that bash exports. */
  readonly variables: Readonly<Record<string, string>>;
  /** The process that becomes the program; undefined: this one does. */
  readonly launcher: Launcher | undefined;
}

interface Launcher {
  readonly pid: number;
  answer(answer: LaunchAnswer): void;
}

const LAST_SIGNAL = 64;

/** Removes these variables from `env`. Where a command was started by Node itself, they are not there. */
export function takeInherited(env: NodeJS.ProcessEnv): Inherited {
  const { COTENANT_IGNORED: ignored = "", COTENANT_VARIABLES: variables = "" } = env;
  const { COTENANT_ANSWER: descriptor } = env;
  for (const name of ["COTENANT_IGNORED", "COTENANT_VARIABLES", "COTENANT_ANSWER"])
    delete env[name];
  return {
    ignored: signalsIn(ignored),
    variables: variablesIn(variables),
    launcher: descriptor === undefined ? undefined : launcherAt(Number(descriptor), { ...env }),
  };
}

const launcherAt = (descriptor: number, env: NodeJS.ProcessEnv): Launcher => ({
  pid: process.ppid,
  answer: (answer) => writeFileSync(descriptor, encodeAnswer(answer, env)),
});

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
