// Runs a command to its end while something is measured, and tells it to end when its time is up.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { errors } from "#core";

/** A command that does not end within this time after it was told to is killed. */
const PATIENCE_MS = 30_000;
const PROGRESS_MS = 5000;

export interface Run {
  readonly env: NodeJS.ProcessEnv;
  /** After this time the command is told to end (SIGTERM). */
  readonly seconds: number | undefined;
  /** Whether the command is a profiler, which starts the program that is to be told. */
  readonly wraps?: boolean;
  /** Called at intervals with the seconds passed. */
  readonly progress: (seconds: number) => void;
}

export interface Ended {
  /** How it ended: "status 0", "signal 15". */
  readonly how: string;
  readonly ok: boolean;
  /** Whether it was told to end because its time was up. */
  readonly late: boolean;
  /** Whether this process was asked to stop. */
  readonly interrupted: boolean;
  readonly seconds: number;
}

export function runToEnd(
  [program, ...args]: readonly [string, ...string[]],
  { env, seconds, wraps = false, progress }: Run,
): Promise<Ended> {
  const begun = performance.now();
  const secondsPassed = () => (performance.now() - begun) / 1000;
  // Node refuses an empty name by another error.
  if (program === "") throw errors.cannotExecute(program, "ENOENT");
  const child = spawn(program, args, { env, stdio: "inherit" });
  let [late, interrupted] = [false, false];
  const tell = (signal: NodeJS.Signals) => {
    if (!wraps) child.kill(signal);
    else for (const pid of descendantsOf(child.pid ?? 0)) send(pid, signal);
  };
  const timers = [setInterval(() => progress(secondsPassed()), PROGRESS_MS)];
  const end = () => {
    tell("SIGTERM");
    timers.push(setTimeout(() => tell("SIGKILL"), PATIENCE_MS));
  };
  if (seconds !== undefined)
    timers.push(
      setTimeout(() => {
        late = true;
        end();
      }, seconds * 1000),
    );
  // Ctrl-C reaches the command too. A command that does not end by it is told to end after a while, or at once if
  // another signal comes.
  const pass = (signal: NodeJS.Signals) => {
    if (signal !== "SIGINT" || interrupted) end();
    else timers.push(setTimeout(end, PATIENCE_MS));
    interrupted = true;
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const signal of signals) process.on(signal, pass);
  const settle = () => {
    for (const timer of timers) clearTimeout(timer);
    for (const signal of signals) process.off(signal, pass);
  };
  return new Promise((resolve, reject) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      settle();
      reject(errors.cannotExecute(program, error.code ?? error.message));
    });
    child.on("exit", (status, signal) => {
      settle();
      const how = signal ? `signal ${constants.signals[signal]}` : `status ${status}`;
      resolve({ how, ok: status === 0, late, interrupted, seconds: secondsPassed() });
    });
  });
}

/** The children of the process, their children, and so on. */
function descendantsOf(pid: number): readonly number[] {
  let children: readonly number[] = [];
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    children = text.split(" ").filter(Boolean).map(Number);
  } catch {
    return []; // gone
  }
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // gone already
  }
}
