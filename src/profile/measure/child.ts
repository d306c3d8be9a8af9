// Runs a command to its end, told to end when its time is up, while something is measured about it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { errors } from "#core";

/** Who does not end when told to is killed. */
const PATIENCE_MS = 30_000;
const PROGRESS_MS = 5000;

export interface Run {
  readonly env: NodeJS.ProcessEnv;
  /** Then it is told to end (SIGTERM). */
  readonly seconds: number | undefined;
  /** The command starts the program that is meant, which is the one to be told: a profiler. */
  readonly wraps?: boolean;
  /** Called now and then with the seconds passed. */
  readonly progress: (seconds: number) => void;
}

export interface Ended {
  /** "status 0", "signal 15" */
  readonly how: string;
  readonly ok: boolean;
  /** Its time was up. */
  readonly late: boolean;
  /** Somebody wants us to stop. */
  readonly interrupted: boolean;
  readonly seconds: number;
}

export function runToEnd(
  [program, ...args]: readonly [string, ...string[]],
  { env, seconds, wraps = false, progress }: Run,
): Promise<Ended> {
  const begun = performance.now();
  const passed = () => (performance.now() - begun) / 1000;
  // Node takes no empty name.
  if (program === "") throw errors.cannotExecute(program, "ENOENT");
  const child = spawn(program, args, { env, stdio: "inherit" });
  let [late, interrupted] = [false, false];
  const tell = (signal: NodeJS.Signals) => {
    if (!wraps) child.kill(signal);
    else for (const pid of descendantsOf(child.pid ?? 0)) send(pid, signal);
  };
  const timers = [setInterval(() => progress(passed()), PROGRESS_MS)];
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
  // Ctrl-C reaches the command as well; where it did not, or is ignored, whoever asks again is heard.
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
      resolve({ how, ok: status === 0, late, interrupted, seconds: passed() });
    });
  });
}

/** Children, their children, and so on; not the process itself. */
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
