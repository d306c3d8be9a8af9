// The agent starts a daemon of its own, starts it again if it dies, and ends it. If a daemon that
// another program started answers in its folders, the agent uses it and never ends it.
// After a fatal error of one client a server serves no client any more, and takes none before all of
// them have ended (NVIDIA's MPS documentation, "Error containment").
import { execFile, spawn } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { errors } from "#core";
import type { Log } from "../log/log.ts";
import { readOrNothing } from "../system/index.ts";

const CONTROL = "nvidia-cuda-mps-control";
const ANSWER_WITHIN_MS = 5000;
const AFTER_ERROR = "FAULT";

export interface Mps {
  readonly restarts: number;
  /** Why programs can't use the GPU now; undefined: they can. */
  readonly error: string | undefined;
  check(): Promise<void>;
  stop(): Promise<void>;
}

export interface MpsFolders {
  readonly pipes: string;
  readonly logs: string;
}

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

/** While this file exists, contexts of the software GPU run side by side. */
export function startSoftMps({ pipes, logs }: MpsFolders): Mps {
  makeFolders({ pipes, logs });
  writeFileSync(`${pipes}/softgpu-mps`, "", { mode: 0o600 });
  return {
    restarts: 0,
    error: undefined,
    check: async () => {},
    stop: async () => rmSync(`${pipes}/softgpu-mps`, { force: true }),
  };
}

class Daemon implements Mps {
  restarts = 0;
  error: string | undefined;
  readonly #mark: string;
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #folders: MpsFolders;
  readonly #log: Log;
  #checking = false;
  #stopped = false;

  constructor(folders: MpsFolders, env: Readonly<Record<string, string | undefined>>, log: Log) {
    // This file speaks protocol 2, as each driver does unless it is asked for another one.
    const { LD_PRELOAD: _, CUDA_MPS_PROTOCOL_VERSION: __, ...rest } = env;
    this.#env = { ...rest, ...mpsEnvironment(folders) };
    this.#folders = folders;
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
      const servers = await this.#ask("get_server_list");
      if (this.#stopped) return;
      if (servers !== undefined) {
        await this.#look(pidsIn(servers));
        return;
      }
      this.#log("mps restarted", { because: "it no longer answers" });
      this.restarts++;
      await this.#launch();
    } catch (error) {
      // The next check tries again. Until then the running clients continue as far as they can.
      this.#log("mps failed", { because: error instanceof Error ? error.message : String(error) });
    } finally {
      this.#checking = false;
    }
  }

  async #look(servers: readonly string[]): Promise<void> {
    const states = await Promise.all(
      servers.map((server) => this.#ask(`get_server_status ${server}`)),
    );
    const broken = servers.filter((_, i) => states[i]?.trim() === AFTER_ERROR);
    const lists = await Promise.all(broken.map((server) => this.#ask(`get_client_list ${server}`)));
    const error = broken.length > 0 ? errorOf(pidsIn(lists.join("\n"))) : undefined;
    if (error !== undefined && error !== this.error) this.#log("mps broken", { because: error });
    if (error === undefined && this.error !== undefined) this.#log("mps recovered");
    this.error = error;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (!existsSync(this.#mark)) return;
    await this.#ask("quit");
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
    if (await this.#answers()) return;
    await this.#end();
    rmSync(this.#mark, { force: true });
    throw errors.mpsFailed("it does not answer");
  }

  async #end(): Promise<void> {
    await this.#ask("quit");
    const pid = Number(readOrNothing(`${this.#folders.pipes}/${CONTROL}.pid`));
    if (!Number.isSafeInteger(pid) || pid <= 1) return;
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      // It has ended.
    }
  }

  async #answers(): Promise<boolean> {
    return (await this.#ask("get_server_list")) !== undefined;
  }

  /** Returns what the daemon prints; undefined: it does not answer. */
  #ask(command: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const control = spawn(CONTROL, [], {
        env: this.#env,
        stdio: ["pipe", "pipe", "ignore"],
        timeout: ANSWER_WITHIN_MS,
      });
      let said = "";
      control.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
      });
      control.on("error", () => resolve(undefined));
      control.on("close", (status) => resolve(status === 0 ? said : undefined));
      control.stdin.on("error", () => {}); // the program ended without reading; its status shows that
      control.stdin.end(`${command}\n`);
    });
  }
}

const pidsIn = (list: string): readonly string[] =>
  list.match(/^\s*\d+\s*$/gm)?.map((pid) => pid.trim()) ?? [];

const errorOf = (pids: readonly string[]): string =>
  `MPS met a fatal GPU error of one of its clients. CUDA calls of all fail, and no program can join, until they are restarted: pid ${pids.join(", ") || "unknown"}`;

function makeFolders({ pipes, logs }: MpsFolders): void {
  for (const folder of [pipes, logs]) mkdirSync(folder, { recursive: true, mode: 0o700 });
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ("code" in error && error.code === "ENOENT") return `${CONTROL} is not installed`;
  return error.message.trim().split("\n").at(-1) ?? error.message;
}
