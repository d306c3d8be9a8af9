// Node, or the shell before it, changes signals and variables of this process, so bin/cotenant and
// native/launcher hand them on in variables.
import { writeFileSync } from "node:fs";
import { constants } from "node:os";
import { encodeAnswer, type LaunchAnswer } from "#agent";

export interface Inherited {
  readonly ignored: readonly number[];
  readonly variables: Readonly<Record<string, string>>; // no shell has such names
  readonly launcher: Launcher | undefined; // this process becomes the program; undefined: no other does
}

interface Launcher {
  readonly pid: number;
  answer(answer: LaunchAnswer): void;
}

const LAST_SIGNAL = 64;

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

/** Bit 0 of the mask in /proc/PID/status is signal 1. */
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

/** An ignored signal stays ignored across exec. */
export const ignoredByNode: readonly number[] = [
  constants.signals.SIGPIPE,
  constants.signals.SIGXFSZ,
];
