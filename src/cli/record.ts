// Runs a command with the interposer noting what it launches, as nobody's client: nothing is held back.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { errors, UserError } from "#core";
import { interposer } from "./package.ts";

/** What the command left behind; a UserError when it used no GPU. It is told to end after `seconds`. */
export async function record(
  command: readonly [string, ...string[]],
  seconds: number | undefined,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "cotenant-record-"));
  try {
    const file = join(folder, "recording.json");
    const ended = await run(command, file, seconds);
    if (existsSync(file)) return readFileSync(file, "utf8");
    throw new UserError(
      "NOTHING_RECORDED",
      `${command[0]} ended (${ended}) without a recording: it used no GPU, or was killed.`,
      "A recording is written when a program ends by itself, or on SIGTERM and SIGINT where it has no handler.",
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(
  [program, ...args]: readonly [string, ...string[]],
  file: string,
  seconds: number | undefined,
): Promise<string> {
  const { LD_PRELOAD: before, COTENANT_CLASS: _, ...env } = process.env;
  const preload = [interposer(process.env), before].filter(Boolean).join(":");
  const child = spawn(program, args, {
    env: { ...env, LD_PRELOAD: preload, COTENANT_RECORD: file },
    stdio: "inherit",
  });
  const timer =
    seconds === undefined ? undefined : setTimeout(() => child.kill("SIGTERM"), seconds * 1000);
  // The terminal sends Ctrl-C to both: the command ends, and then its recording is read.
  const pass = (signal: NodeJS.Signals) => (signal === "SIGINT" ? undefined : child.kill(signal));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, pass);
  return new Promise((resolve, reject) => {
    child.on("error", (fault) => reject(errors.cannotExecute(program, fault.message)));
    child.on("exit", (status, signal) => {
      clearTimeout(timer);
      for (const one of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(one, pass);
      resolve(signal ? `signal ${constants.signals[signal]}` : `status ${status}`);
    });
  });
}
