import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { errors } from "#core";

const PATIENCE_MS = 30_000;
const PROGRESS_MS = 5000;

export interface Run {
  readonly env: NodeJS.ProcessEnv;
  readonly seconds: number | undefined;
  readonly wraps?: boolean;
  readonly progress: (seconds: number) => void;
}

export interface Ended {
  readonly how: string;
  readonly ok: boolean;
  readonly late: boolean;
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
  // Ctrl-C reaches the command too. It is told to end after a while, or at once by another signal.
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
    // The process is gone already.
  }
}
