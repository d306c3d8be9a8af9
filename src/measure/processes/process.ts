import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";

const LOOK_EVERY_MS = 5;
const LEAVES_WITHIN_MS = 15_000;
const LAST_WORDS = 1500;

/** The message names the job and has its last lines. */
export class JobFailed extends Error {}

export class JobProcess {
  readonly name: string;
  readonly log: string;
  readonly #child: ChildProcess;
  #ended: string | undefined;

  constructor(name: string, command: readonly string[], env: NodeJS.ProcessEnv, directory: string) {
    this.name = name;
    this.log = `${directory}/${name}.log`;
    const [program = "", ...args] = command;
    const output = openSync(this.log, "w", 0o600);
    // Everything that the job starts is ended with its process group.
    this.#child = spawn(program, args, {
      env,
      stdio: ["ignore", output, output],
      detached: true,
    });
    closeSync(output);
    this.#child.on("exit", (status, signal) => {
      this.#ended ??= `ended with ${signal ?? status}`;
    });
    this.#child.on("error", (error) => {
      this.#ended ??= `could not be started: ${error.message}`;
    });
  }

  /** Throws JobFailed without a result of `look` in time. */
  async until<T>(look: () => T | undefined, seconds: number, what: string): Promise<T> {
    const end = performance.now() + seconds * 1000;
    for (;;) {
      const found = look();
      if (found !== undefined) return found;
      this.check();
      if (performance.now() > end) throw this.failure(`was not ${what} within ${seconds} s`);
      await pause(LOOK_EVERY_MS);
    }
  }

  check(): void {
    if (this.#ended !== undefined) throw this.failure(this.#ended);
  }

  async end(): Promise<void> {
    const end = performance.now() + LEAVES_WITHIN_MS;
    while (this.#ended === undefined && performance.now() < end) await pause(LOOK_EVERY_MS);
    this.kill("SIGTERM");
    for (let i = 0; this.#ended === undefined && i < 400; i++) await pause(LOOK_EVERY_MS);
    this.kill();
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, signal);
    } catch {
      // No process of its group is left.
    }
  }

  failure(what: string): JobFailed {
    const said = readFileSync(this.log, "utf8").trim().slice(-LAST_WORDS);
    return new JobFailed(`${this.name} ${what}; it last said:\n${said || "(nothing)"}`);
  }
}
