// Memory and time, as the kernel accounts them: of the agent while two clients share the software GPU,
// and of a client with the interposer preloaded and without.
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { clientEnvironment, interposer } from "./instructions.ts";

const cotenant = [process.execPath, resolve("bin/cotenant")] as const;
const STARTED_WITHIN_MS = 60_000;

/** One process' CPU time so far in seconds, and its memory now and at most in MiB, from /proc. */
function account(pid: number): { cpuSeconds: number; mib: number; mostMib: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = Number(fields[11]) + Number(fields[12]); // utime, stime
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]);
  return {
    cpuSeconds: ticks / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" })),
    mib: kib("VmRSS") / 1024,
    mostMib: kib("VmHWM") / 1024,
  };
}

/** A service of 100 requests of 2 ms a second, and a training that always has work. */
const high = ["--kernels=20", "--kernel-us=100", "--arrivals=poisson", "--rate=100"];
const bestEffort = ["--kernels=40", "--kernel-us=150", "--arrivals=closed", "--depth=2"];

export async function agentWithTwoClients(seconds: number) {
  const directory = mkdtempSync(join(tmpdir(), "cotenant-cost-"));
  const env = { ...process.env, COTENANT_DIR: directory };
  const running: ChildProcess[] = [];
  const start = (args: readonly string[]) => {
    const [command, ...before] = cotenant;
    const stdio = ["ignore", "ignore", "pipe"] as const;
    const child = spawn(command, [...before, ...args], { env, stdio: [...stdio] });
    running.push(child);
    return child;
  };
  const load = (kind: string, shape: readonly string[]) =>
    start([
      ...["run", "--class", kind, "--", ...cotenant, "load", ...shape],
      ...["--seconds", String(seconds + 60)],
    ]);
  try {
    const agent = start(["up", "--foreground", "--gpu", "soft"]);
    await says(agent, " started ");
    for (const client of [() => load("high", high), () => load("best-effort", bestEffort)])
      await says(client(), "load: serving");
    await pause(1000);
    const pid = agent.pid ?? 0;
    const before = account(pid);
    const from = performance.now();
    await pause(seconds * 1000);
    const after = account(pid);
    const share = (after.cpuSeconds - before.cpuSeconds) / ((performance.now() - from) / 1000);
    return {
      seconds,
      cpuShare: round(share, 4),
      mib: round(after.mib),
      mostMib: round(after.mostMib),
    };
  } finally {
    for (const child of running.reverse()) child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Resolves when the child has said the words on stderr. */
function says(child: ChildProcess, words: string): Promise<void> {
  return new Promise((done, fail) => {
    let said = "";
    const impatience = setTimeout(
      () => fail(new Error(`"${words}" was not said:\n${said}`)),
      STARTED_WITHIN_MS,
    );
    child.stderr?.on("data", (chunk) => {
      said += chunk;
      if (!said.includes(words)) return;
      clearTimeout(impatience);
      done();
    });
    child.on("close", (status) => fail(new Error(`ended with ${status}:\n${said}`)));
  });
}

interface Client {
  readonly ns: number;
  readonly resident_kib: number;
}

const client = async (args: readonly string[], preload: boolean): Promise<Client> =>
  JSON.parse(
    (
      await promisify(execFile)("build/native/bench/launch", args, {
        env: clientEnvironment(preload),
      })
    ).stdout,
  ) as Client;

/** Wall time of a launch by itself, the preemption points and bursts of 16 included; the best of many rounds. */
export async function launchNs(kind: "high" | "best-effort" | "ungated"): Promise<number> {
  const [bare, preloaded] = [await client([kind, "100"], false), await client([kind, "100"], true)];
  return round(preloaded.ns - bare.ns, 1);
}

/** MiB that a client is larger for the interposer. */
export async function interposerMemory(
  kind: "high" | "best-effort",
  streams: number,
  shapes: number,
): Promise<number> {
  const args = [kind, "1", String(streams), String(shapes)];
  const [bare, preloaded] = [await client(args, false), await client(args, true)];
  return round((preloaded.resident_kib - bare.resident_kib) / 1024, 2);
}

/**
 * MiB that a process is larger which never asks for the driver. `Anonymous` memory is its own; `Rss` has pages of files, too,
 * of which the kernel maps as many around one as its cache has in one piece.
 */
export function bystanderMemory(kind: "Anonymous" | "Rss"): number {
  const resident = (preload: boolean) => {
    const env = { PATH: process.env.PATH, ...(preload && { LD_PRELOAD: interposer }) };
    const said = execFileSync("cat", ["/proc/self/smaps_rollup"], { encoding: "utf8", env });
    return Number(new RegExp(`${kind}:\\s+(\\d+)`).exec(said)?.[1]) / 1024;
  };
  // Pages of shared libraries make a run a little larger or smaller: the smallest of several.
  const least = (preload: boolean) =>
    Math.min(...Array.from({ length: 10 }, () => resident(preload)));
  return round(least(true) - least(false), 2);
}

const round = (value: number, digits = 1) => Number(value.toFixed(digits));
