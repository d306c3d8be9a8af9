// Kubernetes' own programs: where they are, and how one runs in the background.
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const tools = fileURLToPath(new URL("../../scripts/kubernetes-tools", import.meta.url));

/**
 * The folders of the programs, as in PATH. `compile`: compiles what is missing, and says so on stderr; otherwise that is
 * an error. Throws with the sentence of the script.
 */
export function programFolders(compile: boolean): string {
  const { status, stdout, stderr, error } = spawnSync(tools, compile ? [] : ["--built"], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", compile ? "inherit" : "pipe"],
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(stderr?.trim() || "Kubernetes' programs were not compiled.");
  return stdout.trim();
}

/** The environment in which a command finds Kubernetes' programs before others of the same name. */
export const environmentWith = (folders: string): NodeJS.ProcessEnv => ({
  ...process.env,
  PATH: `${folders}${delimiter}${process.env.PATH ?? ""}`,
});

export interface Program {
  readonly name: string;
  readonly pid: number;
  /** Whether it still runs. */
  running(): boolean;
  /** Its output so far. */
  log(): string;
  /** Kills it: what it keeps is thrown away anyway. Resolves when it is gone. */
  kill(): Promise<void>;
}

interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The name of the log, if the program only starts another one. */
  readonly log?: string;
}

/** Starts a program in `folder`, where its output goes to NAME.log. It ends with this process, however that ends. */
export function startProgram(
  folders: string,
  folder: string,
  name: string,
  args: readonly string[],
  { env = {}, log: called = name }: ProgramOptions = {},
): Program {
  const path = join(folder, `${called}.log`);
  const log = openSync(path, "a");
  // A session of its own: Ctrl-C in a terminal reaches only the process that stops the programs in order.
  const child: ChildProcess = spawn("setpriv", ["--pdeathsig", "KILL", name, ...args], {
    cwd: folder,
    detached: true,
    env: { ...environmentWith(folders), ...env },
    stdio: ["ignore", log, log],
  });
  const ended = new Promise<void>((resolve) => {
    child.on("exit", () => resolve());
    child.on("error", () => resolve());
  });
  return {
    name: called,
    pid: child.pid ?? 0,
    running: () => child.pid !== undefined && child.exitCode === null && child.signalCode === null,
    log: () => readFileSync(path, "utf8"),
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
