import { spawn } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import type { AgentFile, BestEffortStatus } from "#agent";
import { askStatus, ownAgentHere } from "#client";
import { errors, type Micros, ms, UserError, usage } from "#core";
import { command, duration, flag, json, text } from "../../program/command.ts";
import { moveClient, onlyJob } from "./moving.ts";

const options = {
  checkpoint: text(
    "COMMAND",
    undefined,
    "run by sh, with COTENANT_PID in its environment, and COTENANT_PIDS with those of all processes of the job: makes the job save its state; then the job is ended, not parked",
  ),
  within: duration("TIME", ms(60_000), "how long the checkpoint may take"),
  grace: duration("TIME", ms(30_000), "how long the job may take to end after SIGTERM"),
  end: flag("end the job where it cannot be parked, and without a checkpoint; it loses its state"),
  json,
};

type Way = "parked" | "ended" | "killed";

export const evictCommand = command({
  name: "evict",
  summary: "take a best-effort client off the GPU",
  options,
  positional: {
    name: "NAME|PID",
    doc: "a best-effort client, with all processes of its job",
    atLeast: 1,
  },
  examples: ["cotenant evict train", "cotenant evict train --checkpoint ./save.sh"],
  async run({ positional: [called = "", ...more], ...args }) {
    if (more.length > 0) throw usage("evict is about one client at a time.");
    const { agent } = ownAgentHere();
    const job = onlyJob(await askStatus(agent), called);
    const [client] = job;
    if (!client) throw errors.noSuchClient(called);
    const way = await evict(agent, job, args);
    const { name, pid } = client;
    const pids = job.map((one) => one.pid);
    if (args.json) console.log(JSON.stringify({ name, pid, pids, way }));
    else console.log(`${name} (pid${pids.length > 1 ? "s" : ""} ${pids.join(", ")}): ${way}.`);
    return 0;
  },
});

interface Means {
  readonly checkpoint: string | undefined;
  readonly within: Micros;
  readonly grace: Micros;
  readonly end: boolean;
}

type Processes = readonly BestEffortStatus[];

async function evict(agent: AgentFile, job: Processes, means: Means): Promise<Way> {
  const { checkpoint, within, grace, end } = means;
  if (checkpoint !== undefined) {
    await runCheckpoint(checkpoint, job, within);
    return await endProcesses(agent, job, grace);
  }
  try {
    await moveClient(agent, "park", String(job[0]?.pid));
    return "parked";
  } catch (error) {
    if (!(error instanceof UserError && end)) throw error;
    return await endProcesses(agent, job, grace);
  }
}

/** Throws a UserError unless it ends well in time: the job goes on then, or its state is lost. */
function runCheckpoint(words: string, job: Processes, within: Micros) {
  const { name, pid } = job[0] ?? { name: "", pid: 0 };
  const pids = job.map((one) => one.pid).join(" ");
  return new Promise<void>((resolve, reject) => {
    const child = spawn("sh", ["-c", words], {
      env: { ...process.env, COTENANT_PID: String(pid), COTENANT_PIDS: pids },
      stdio: ["ignore", "inherit", "inherit"],
      detached: true, // a process group of its own, which is killed as a whole
    });
    const failed = (why: string) => reject(errors.checkpointFailed(`${name} (pid ${pid})`, why));
    const timer = setTimeout(() => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      failed(`took longer than ${within / 1e6} s`);
    }, within / 1e3);
    child.on("error", (error) => failed(`could not be started: ${errors.whyOf(error)}`));
    child.on("exit", (status, signal) => {
      clearTimeout(timer);
      if (status === 0) resolve();
      else failed(`ended with ${signal ?? `status ${status}`}`);
    });
  });
}

async function endProcesses(agent: AgentFile, job: Processes, grace: Micros): Promise<Way> {
  for (const client of await stillThere(agent, job)) signal(client, "SIGTERM");
  const until = performance.now() + grace / 1e3;
  while (performance.now() < until) {
    if ((await stillThere(agent, job)).length === 0) return "ended";
    await pause(50);
  }
  for (const client of await stillThere(agent, job)) signal(client, "SIGKILL");
  return "killed";
}

async function stillThere(agent: AgentFile, job: Processes): Promise<Processes> {
  const there = (await askStatus(agent)).gpus.flatMap(({ bestEffort }) => bestEffort);
  return job.filter(({ pid, slot }) => there.some((one) => one.pid === pid && one.slot === slot));
}

function signal({ name, pid }: BestEffortStatus, which: NodeJS.Signals): void {
  try {
    process.kill(pid, which);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return;
    throw errors.notMoved(`${name} (pid ${pid}) cannot be sent ${which}`, String(error));
  }
}
