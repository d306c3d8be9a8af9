// The MPS control daemon of mode mps: ours is started in pipe and log directories of our own, watched,
// started again when it died, and told to quit with the agent. A daemon that somebody else started is
// used if it answers there, and never told to quit.
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { errors } from "#core";
import type { Log } from "../log.ts";

const CONTROL = "nvidia-cuda-mps-control";
const ANSWER_WITHIN_MS = 5000;

export interface Mps {
  readonly restarts: number;
  /** Starts it again if it no longer answers. Calls while one is under way do nothing. */
  check(): Promise<void>;
  stop(): Promise<void>;
}

export interface MpsFolders {
  readonly pipes: string;
  readonly logs: string;
}

/** What a client or the control program needs to find our daemon. */
export const mpsEnvironment = ({ pipes, logs }: MpsFolders) => ({
  CUDA_MPS_PIPE_DIRECTORY: pipes,
  CUDA_MPS_LOG_DIRECTORY: logs,
});

/** Throws a UserError when the daemon can't be started. */
export async function startMps(
  folders: MpsFolders,
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): Promise<Mps> {
  const daemon = new Daemon(folders, env, log);
  await daemon.start();
  return daemon;
}

/** The software GPU's MPS: it runs contexts side by side while a file is there. */
export function startSoftMps({ pipes, logs }: MpsFolders): Mps {
  makeFolders({ pipes, logs });
  writeFileSync(`${pipes}/softgpu-mps`, "", { mode: 0o600 });
  return {
    restarts: 0,
    check: async () => {},
    stop: async () => rmSync(`${pipes}/softgpu-mps`, { force: true }),
  };
}

class Daemon implements Mps {
  restarts = 0;
  readonly #mark: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #folders: MpsFolders;
  readonly #log: Log;
  #checking = false;
  #stopped = false;

  constructor(folders: MpsFolders, env: Readonly<Record<string, string | undefined>>, log: Log) {
    const { LD_PRELOAD: _, ...rest } = env;
    this.#env = { ...rest, ...mpsEnvironment(folders) };
    this.#folders = folders;
    /** Says that the daemon in these folders was started by us or by the agent before us. */
    this.#mark = `${folders.pipes}/started-by-cotenant`;
    this.#log = log;
  }

  async start(): Promise<void> {
    makeFolders(this.#folders);
    if (await this.#answers()) {
      this.#log("mps found", { ours: existsSync(this.#mark) ? "yes" : "no" });
      return;
    }
    await this.#launch();
  }

  async check(): Promise<void> {
    if (this.#checking || this.#stopped) return;
    this.#checking = true;
    try {
      if ((await this.#answers()) || this.#stopped) return;
      this.#log("mps restarted", { because: "it no longer answers" });
      this.restarts++;
      await this.#launch();
    } catch (error) {
      // The next check tries again; until then the clients that are running go on as they can.
      this.#log("mps failed", { because: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#checking = false;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (!existsSync(this.#mark)) return;
    await this.#tell("quit");
    rmSync(this.#mark, { force: true });
  }

  async #launch(): Promise<void> {
    writeFileSync(this.#mark, "", { mode: 0o600 });
    try {
      await promisify(execFile)(CONTROL, ["-d"], { env: this.#env, timeout: ANSWER_WITHIN_MS });
    } catch (error) {
      rmSync(this.#mark, { force: true });
      throw errors.mpsFailed(reasonOf(error));
    }
    if (!(await this.#answers())) throw errors.mpsFailed("it does not answer");
  }

  async #answers(): Promise<boolean> {
    return (await this.#tell("get_server_list")) === 0;
  }

  /** The control program's exit status; -1 when there is none. */
  #tell(command: string): Promise<number> {
    return new Promise((resolve) => {
      const control = spawn(CONTROL, [], {
        env: this.#env,
        stdio: ["pipe", "ignore", "ignore"],
        timeout: ANSWER_WITHIN_MS,
      });
      control.on("error", () => resolve(-1));
      control.on("close", (status) => resolve(status ?? -1));
      control.stdin.on("error", () => {}); // it ended without reading: its status says so
      control.stdin.end(`${command}\n`);
    });
  }
}

function makeFolders({ pipes, logs }: MpsFolders): void {
  for (const folder of [pipes, logs]) mkdirSync(folder, { recursive: true, mode: 0o700 });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "ENOENT") return `${CONTROL} is not installed`;
  return error.message.trim().split("\n").at(-1) ?? error.message;
}
