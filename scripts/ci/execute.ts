// Runs one suite or preparation, and reads what its tests counted.
import { spawn } from "node:child_process";
import type { Inputs } from "./inputs.ts";
import type { Suite } from "./suites.ts";

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export interface Outcome {
  readonly ok: boolean;
  readonly seconds: number;
  readonly output: string;
  readonly counts: Counts;
  /** A line for each failure, which begins with "FAILED ". */
  readonly failures: readonly string[];
  /** A line for each test that was tried again, which begins with "RETRIED ". */
  readonly retried: readonly string[];
}

type Command = readonly string[];

/** The commands of a suite, in their order. `workers`: test files at a time. */
export function commandsOf({ suite, tests }: Inputs, workers: number): readonly Command[] {
  const own = suite.command ?? [];
  if (!suite.config) return own;
  const limit = suite.waits ? [] : [`--maxWorkers=${workers}`];
  return [...own, ["npx", "vitest", "run", "--config", suite.config, ...limit, ...tests]];
}

/** Whether a skipped test of the suite is a failure, with the environment's variables. */
export function mayNotSkip(
  { needsCuda, needsVariable }: Pick<Suite, "needsCuda" | "needsVariable">,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const isThere = (name: string) => Boolean(env[name]);
  return Boolean(needsCuda) && ["CUDA_HOME", needsVariable ?? "CUDA_HOME"].every(isThere);
}

/** Runs commands one after the other, all of them, and collects what they print. `name` stands in failures. */
export async function execute(
  name: string,
  commands: readonly Command[],
  options: {
    /** Its commands run tests, and print how many. */
    readonly countsTests: boolean;
    /** A skipped test is a failure. */
    readonly mayNotSkip?: boolean;
    /** Niceness of its processes: 0 to 19. */
    readonly nice: number;
  },
): Promise<Outcome> {
  const started = performance.now();
  let output = "";
  const failures: string[] = [];
  for (const command of commands) {
    const { status, text } = await run(["nice", "-n", `${options.nice}`, ...command]);
    output += text;
    const named = text.split("\n").filter((line) => line.startsWith("FAILED "));
    failures.push(...named);
    if (status !== 0 && named.length === 0)
      failures.push(`FAILED ${name}: "${command.slice(0, 6).join(" ")}" ended with ${status}.`);
  }
  const counts = countsIn(output);
  if (options.countsTests && counts === undefined)
    failures.push(`FAILED ${name}: its tests were not counted.`);
  if (options.countsTests && counts && counts.passed + counts.failed + counts.skipped === 0)
    failures.push(`FAILED ${name}: it has no tests.`);
  if (options.mayNotSkip && counts && counts.skipped > 0)
    failures.push(
      `FAILED ${name}: ${counts.skipped} tests were skipped, and CUDA's tools are here.`,
    );
  return {
    ok: failures.length === 0,
    seconds: (performance.now() - started) / 1000,
    output,
    failures,
    retried: output.split("\n").filter((line) => line.startsWith("RETRIED ")),
    counts: {
      passed: counts?.passed ?? 0,
      // A failure outside of tests, such as a linter's, counts as one failed test.
      failed: failures.length,
      skipped: counts?.skipped ?? 0,
    },
  };
}

/** The line that test/count-reporter.ts prints; undefined: there is none. */
export function countsIn(output: string): Counts | undefined {
  const lines = [...output.matchAll(/^Tests: (\d+) passed, (\d+) failed, (\d+) skipped$/gm)];
  const last = lines.at(-1);
  if (!last) return undefined;
  const [passed = 0, failed = 0, skipped = 0] = last.slice(1).map(Number);
  return { passed, failed, skipped };
}

function run(command: Command): Promise<{ status: number | string; text: string }> {
  const [program = "", ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    const append = (chunk: string) => {
      text += chunk;
    };
    child.stdout.setEncoding("utf8").on("data", append);
    child.stderr.setEncoding("utf8").on("data", append);
    child.on("error", (error) => resolve({ status: error.message, text }));
    child.on("close", (code, signal) => resolve({ status: code ?? signal ?? "no status", text }));
  });
}
