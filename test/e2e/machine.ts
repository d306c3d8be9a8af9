// A machine of a test's own: a run directory, an agent on the software GPU, and clients, each started as a
// person would, with the `cotenant` command. What a test starts ends with the test.
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import {
  type AgentFile,
  type BestEffortStatus,
  type HighStatus,
  openFilesOf,
  REGION_LINK,
  runningAgent,
  type Status,
} from "#agent";
import { askStatus } from "#client";
import type { Result } from "#load";
import type { ClientClass, Region, View } from "#protocol";
import { regionOf } from "../agent/region.ts";
import { removeFolder } from "./remove-folder.ts";

/** The `cotenant` command as it is installed. */
export const launcher = fileURLToPath(new URL("../../build/native/cotenant", import.meta.url));
const script = fileURLToPath(new URL("../../bin/cotenant", import.meta.url));

/** For what must happen some time; only a machine that stands still takes so long. */
const WITHIN_MS = 300_000;

interface Ended {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Monotonic ns. */
export interface Request {
  readonly arrival: number;
  readonly start: number;
  readonly done: number;
}

export interface Client {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  /** Resolves when its stderr has said this; rejects when it ended before. */
  said(text: string): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

export interface Load extends Client {
  /** Resolves when it is calibrated and warm; rejects when it ended before. */
  readonly serving: Promise<void>;
  /** Ends it in order. Rejects unless it ends well, with all of its work intact. */
  finish(): Promise<{ readonly result: Result; readonly served: readonly Request[] }>;
}

type Env = Readonly<Record<string, string>>;

export interface Machine {
  readonly directory: string;
  up(...args: string[]): Promise<AgentFile>;
  /** Throws when no agent runs. */
  agent(): AgentFile;
  /** By SIGKILL. Afterwards another one can start: on a busy machine a process lives on for a while. */
  killAgent(): Promise<void>;
  /** One command from start to end. */
  cotenant(args: readonly string[], env?: Env): Promise<Ended>;
  /** `cotenant run --class kind -- …`: a process that becomes the command. */
  run(kind: ClientClass, program: readonly string[], env?: Env): Client;
  /** As `run`, without the command: for a program that starts within milliseconds. */
  native(kind: ClientClass, program: readonly string[]): Promise<Client>;
  /** A program that is no client by itself. */
  elsewhere(program: readonly string[], env?: Env): Client;
  load(kind: ClientClass, shape: readonly string[], env?: Env): Load;
  /** The output of `cotenant status --json`, without a process for it: tests ask again and again. */
  status(): Promise<Status>;
  /** This process in the agent's status; undefined when it holds no slot. */
  slotOf(client: { readonly pid: number }): Promise<HighStatus | BestEffortStatus | undefined>;
  /** The same, when it must be a best-effort client with a slot. */
  bestEffortOf(client: { readonly pid: number }): Promise<BestEffortStatus>;
  /** The memory that the agent and its clients share; there is one GPU. Throws before its first client came. */
  /** As the agent has it now. */
  memory(): View<typeof Region>;
}

/** Its part for Node, as the first words of another command line: a program that uses the GPU. */
export const cotenantItself = [process.execPath, script] as const;

/** A program whose GPU work is never looked at until the file is there. */
export const openBurst = (file: string): readonly string[] =>
  ownProgram(fileURLToPath(new URL("./programs/open-burst.ts", import.meta.url)), file);

/** One whose GPU work does not end before. */
export const blockedBurst = (file: string): readonly string[] =>
  ownProgram(fileURLToPath(new URL("./programs/blocked-burst.ts", import.meta.url)), file);

/** Memory files that the agent shares with clients: their slots, or control pages. */
export const filesOf = (machine: Machine, kind: "hold" | "high" | "best-effort", slot = "") =>
  openFilesOf(machine.agent().pid, `${REGION_LINK}-${kind}-${slot}`);

/** Somebody who writes into memory files without a pause. */
export const scribble = (
  machine: Machine,
  kind: "extremes" | "holes",
  ...files: readonly string[]
) =>
  machine.elsewhere([
    ...["nice", "-n", "5", process.execPath, "--import", "tsx"],
    ...[fileURLToPath(new URL("./programs/scribble.ts", import.meta.url)), kind, ...files],
  ]);

/** A client that is not gated: to be run without the library. */
export const ungated: readonly string[] = [
  ...[process.execPath, "--import", "tsx"],
  fileURLToPath(new URL("./programs/ungated.ts", import.meta.url)),
];

/**
 * One that holds so many MiB of GPU memory until the file is there, and says whether their content is "intact". Launches
 * every this many ms. `begin`: a file that must be there before it allocates.
 */
export const holdMemory = (
  mib: number,
  file: string,
  everyMs = 20,
  begin = "",
): readonly string[] =>
  ownProgram(
    fileURLToPath(new URL("./programs/hold-memory.ts", import.meta.url)),
    String(mib),
    file,
    String(everyMs),
    begin,
  );

const ownProgram = (source: string, ...args: readonly string[]) => [
  process.execPath,
  ...["--import", "tsx", source, ...args],
];

/** A directory, no agent yet. `env` is everybody's. */
export function emptyMachine(env: Env = {}): Machine {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-e2e-"));
  const own = { COTENANT_DIR: directory, COTENANT_CONFIG: "" };
  const everybody = { ...withoutOurs(process.env), ...env, ...own };
  const tidyUp = () => {
    for (const pid of processesOf(directory)) kill(pid);
    removeFolder(directory);
  };
  process.once("exit", tidyUp);
  onTestFinished(() => {
    process.off("exit", tidyUp);
    tidyUp();
  });

  const start = (args: readonly string[], own: Env = {}): Client =>
    watched(
      spawn(launcher, args, {
        env: { ...everybody, ...own },
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
  const elsewhere: Machine["elsewhere"] = ([program = "", ...rest], own: Env = {}) =>
    watched(
      spawn(program, rest, { env: { ...everybody, ...own }, stdio: ["ignore", "pipe", "pipe"] }),
    );
  const run: Machine["run"] = (kind, program, own) =>
    start(["run", "--class", kind, "--", ...program], own);
  const given = new Map<ClientClass, Env>();
  let loads = 0;

  const machine: Machine = {
    directory,
    async up(...args) {
      const { status, stderr } = await machine.cotenant(["up", "--gpu", "soft", ...args]);
      if (status !== 0) throw new Error(`no agent: ${stderr}`);
      return machine.agent();
    },
    agent() {
      const agent = runningAgent(directory);
      if (!agent) throw new Error("no agent runs");
      return agent;
    },
    async killAgent() {
      process.kill(machine.agent().pid, "SIGKILL");
      await eventually("the agent is gone", () => runningAgent(directory) === undefined);
    },
    cotenant: (args, own) => start(args, own).ended,
    run,
    async native(kind, program) {
      const env = given.get(kind) ?? environmentIn((await run(kind, ["env", "-0"]).ended).stdout);
      given.set(kind, env);
      const { COTENANT_JOB: _, ...ofNoJob } = env; // each is a start of its own
      return elsewhere(program, ofNoJob);
    },
    elsewhere,
    load(kind, shape, own) {
      const marks = join(directory, `${loads++}.marks`);
      const program = [...cotenantItself, "load", ...shape, "--marks", marks, "--json"];
      const client = run(kind, program, own);
      const serving = client.said("load: serving");
      serving.catch(() => {}); // a load that is killed early is nobody's surprise
      return { ...client, serving, finish: () => finished(client, marks) };
    },
    status: () => patiently(() => askStatus(machine.agent())),
    async slotOf({ pid }) {
      const { gpus } = await machine.status();
      const clients = gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]);
      return clients.find((client) => client.pid === pid);
    },
    async bestEffortOf(client) {
      const own = await machine.slotOf(client);
      if (!own || !("chunks" in own)) throw new Error(`pid ${client.pid} is no best-effort client`);
      return own;
    },
    memory() {
      const memory = regionOf(machine.agent().pid);
      if (!memory) throw new Error("the agent serves no GPU yet");
      return memory;
    },
  };
  return machine;
}

/** Variables from the output of `env -0`. */
const environmentIn = (text: string): Env =>
  Object.fromEntries(
    text
      .split("\0")
      .filter((line) => line !== "")
      .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );

/** A machine with its agent. */
export async function startMachine(env?: Env, ...args: string[]): Promise<Machine> {
  const machine = emptyMachine(env);
  await machine.up(...args);
  return machine;
}

/** Goes away with the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-e2e-"));
  onTestFinished(() => removeFolder(directory));
  return directory;
}

/** Asks again where the agent of a busy machine has not answered within the time that a person would wait. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const until = performance.now() + WITHIN_MS;
  for (;;)
    try {
      return await ask();
    } catch (error) {
      const isSlow =
        error instanceof Error && error.message.includes("does not answer: not within");
      if (!isSlow || performance.now() > until) throw error;
    }
}

/** The stderr of a program without lines that it writes on a busy machine, where an agent answers late. */
export const withoutLate = (stderr: string): string =>
  stderr
    .split("\n")
    .filter((line) => !/the agent at "[^"]+" is busy|the agent has answered/.test(line))
    .join("\n");

/** Looks again until it holds; for what crosses processes and has no promise. */
export async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = WITHIN_MS,
): Promise<void> {
  const until = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > until) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Monotonic ns, the clock of the requests' times. */
export const now = (): number => Number(process.hrtime.bigint());

/** Requests that were done within a stretch of time. */
export const between = (served: readonly Request[], from: number, to: number) =>
  served.filter(({ done }) => done >= from && done < to);

export const perSecond = (served: readonly Request[], from: number, to: number): number =>
  between(served, from, to).length / ((to - from) / 1e9);

/** Begin of submission to done, in us; NaN of none. */
export function serviceP50Us(served: readonly Request[]): number {
  const sorted = served.map(({ start, done }) => (done - start) / 1e3).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function watched(child: ChildProcess): Client {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => (stdout += chunk));
  child.stderr?.on("data", (chunk) => (stderr += chunk));
  const ended = new Promise<Ended>((resolve) =>
    child.on("close", (status, signal) => resolve({ status, signal, stdout, stderr })),
  );
  return {
    pid: child.pid ?? 0,
    ended,
    signal: (signal) => void child.kill(signal),
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!stderr.includes(text)) return;
          child.stderr?.off("data", look);
          resolve();
        };
        child.stderr?.on("data", look);
        void ended.then(() => reject(new Error(`ended without saying "${text}": ${stderr}`)));
        look();
      }),
  };
}

async function finished(client: Client, marks: string) {
  client.signal("SIGTERM");
  const { status, signal, stdout, stderr } = await client.ended;
  if (status !== 0 || !existsSync(marks))
    throw new Error(`the load ended with ${signal ?? status}, ${stdout || "no result"}: ${stderr}`);
  const result = JSON.parse(stdout) as Result;
  if (!result.intact) throw new Error(`not every kernel took place exactly once: ${stdout}`);
  return { result, served: parseMarks(readFileSync(marks, "utf8")) };
}

const parseMarks = (text: string): readonly Request[] =>
  text
    .split("\n")
    .filter((line) => /^\d/.test(line))
    .map((line) => {
      const [arrival = 0, start = 0, done = 0] = line.split(" ").map(Number);
      return { arrival, start, done };
    });

/** A test that is itself run under cotenant must not hand that on. */
const withoutOurs = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(COTENANT_|LD_PRELOAD|CUDA_)/.test(name)),
  );

/** Whoever was started with this run directory or one in it, the agent and grandchildren included. */
function processesOf(directory: string): readonly number[] {
  const setting = `COTENANT_DIR=${directory}`;
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return pids.filter((pid) => {
    try {
      const settings = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      return settings.some((one) => one === setting || one.startsWith(`${setting}/`));
    } catch {
      return false; // gone, or somebody else's
    }
  });
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone already
  }
}
