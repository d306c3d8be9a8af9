// Checks before anything starts whether each job can run on this machine. Every workload answers `--check` with one
// sentence about a wrong option or a missing package.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { UserError, usage } from "#core";

const ANSWER_WITHIN_MS = 60_000;

/** Throws a UserError with the job's own words. `directory` is for control files, as in a measurement. */
export async function checkJob(
  job: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<void> {
  const [program = "", ...args] = command;
  try {
    await promisify(execFile)(
      program,
      [...args, "--control", directory, "--name", "check", "--check"],
      { env, timeout: ANSWER_WITHIN_MS },
    );
  } catch (error) {
    const { code, stderr = "" } = error as { code?: unknown; stderr?: string };
    if (code === "ENOENT")
      throw usage(
        `Job "${job}": there is no program "${program}".`,
        "Install it, or name another.",
      );
    const said = stderr.trim().split("\n").at(-1);
    throw new UserError("BAD_JOB", `Job "${job}": ${said || `"${program}" failed its check`}`);
  }
}
