// The command is not a client: nothing is held back.
import { existsSync } from "node:fs";
import { interposer, UserError } from "#core";
import { type Ended, runToEnd } from "./child.ts";

/** Leaves the recording in `file`. Throws a UserError if the command used no GPU. */
export async function record(
  command: readonly [string, ...string[]],
  file: string,
  seconds: number | undefined,
  progress: (seconds: number) => void,
): Promise<Ended> {
  const { LD_PRELOAD: before, COTENANT_CLASS: _, ...env } = process.env;
  const preload = [interposer(process.env), before].filter(Boolean).join(":");
  const ended = await runToEnd(command, {
    env: { ...env, LD_PRELOAD: preload, COTENANT_RECORD: file },
    seconds,
    progress,
  });
  if (existsSync(file)) return ended;
  throw new UserError(
    "NOTHING_RECORDED",
    ended.late
      ? `${command[0]} was told to end after --seconds ${seconds} and left no recording (${ended.how}): it had not used the GPU yet, or it handles SIGTERM.`
      : `${command[0]} ended (${ended.how}) without a recording: it used no GPU, or was killed.`,
    `${ended.late ? "Give it more seconds: imports and weights may take half a minute. " : ""}A recording is written when a program ends by itself, or on SIGTERM and SIGINT where it has no handler.`,
  );
}
