import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync, statSync, writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { claimDirectory, logLine, openNvml, pathsIn, runningAgent, startAgent } from "#agent";
import { dateNow, errors, systemClock } from "#core";
import { parseOverrides, policies, policyNamed } from "#policy";
import { ruleNames } from "#protocol";
import { agentHere, askStatus, ownRunDirectory, ownUid } from "../../client/ask.ts";
import { type Args, choice, command, flag, json, list, number } from "../command.ts";
import { written } from "../../core/files.ts";
import { itself } from "../../core/package.ts";
import { describeGpu } from "./status.ts";

const STARTED_WITHIN_MS = 15_000;
/** A longer log is put aside at the next start, in place of the one put aside before. */
const LOG_KEPT = 4 * 2 ** 20;
const STARTING = "starting";

const options = {
  gpu: choice(
    ["auto", "soft"],
    "auto",
    "auto: NVIDIA GPUs; soft: a software GPU, for machines without one",
  ),
  mode: choice(
    ["isolated", "mps"],
    "isolated",
    "isolated: jobs take turns; mps: under NVIDIA MPS, so that they can also run side by side",
  ),
  policy: choice(
    policies.map(({ name }) => name),
    "cotenant",
    policies.map(({ name, summary }) => `${name}: ${summary}`).join("\n"),
  ),
  set: list(
    "RULE=VALUE",
    `fix one rule of the gate, whatever the policy says (docs/policies.md): ${ruleNames.join(", ")}`,
  ),
  port: number(
    "N",
    0,
    "HTTP port on loopback, for metrics and status; 0 or not given: any free one",
    { max: 65535, whole: true },
  ),
  foreground: flag("do not go into the background, and log to stderr"),
  json,
};

export const upCommand = command({
  name: "up",
  summary: "start the agent for this machine's GPUs",
  options,
  examples: [
    "cotenant up --mode mps",
    "cotenant up --gpu soft",
    "cotenant up --set splitProductsUs=0",
  ],
  async run(args) {
    // Whatever can be wrong with the options is said here, not in the log of a process behind.
    policyNamed(args.policy);
    parseOverrides(args.set);
    const directory = ownRunDirectory();
    claimDirectory(directory, ownUid());
    const running = runningAgent(directory);
    if (running) throw errors.agentRunning(running.pid, directory);
    if (args.foreground) return await stay(directory, args);
    if (args.gpu === "auto") openNvml();
    await startBehind(directory, args);
    return await report(args.json);
  },
});

async function stay(directory: string, args: Args<typeof options>): Promise<number> {
  process.umask(0o077);
  const { command: node, args: program } = itself();
  const agent = await startAgent({
    directory,
    uid: ownUid(),
    gpu: args.gpu === "soft" ? "soft" : "nvidia",
    mode: args.mode,
    policy: policyNamed(args.policy),
    overrides: parseOverrides(args.set),
    port: args.port,
    env: process.env,
    clock: systemClock,
    log: (event, facts) => console.error(`${dateNow()} ${logLine(event, facts)}`),
    formProgram: { command: node, args: [...program, "make-forms", pathsIn(directory).forms] },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => void agent.stop(signal));
  // A terminal that closes takes with it what runs in it. Elsewhere it is sent to daemons to have them open their log anew,
  // which ours need not.
  process.on("SIGHUP", () => void (process.stderr.isTTY && agent.stop("SIGHUP")));
  await agent.stopped;
  return 0;
}

/** Starts the agent as a process of its own, and waits until it serves. */
async function startBehind(directory: string, args: Args<typeof options>): Promise<void> {
  const { log } = pathsIn(directory);
  const { command: node, args: program } = itself();
  const output = openLog(log);
  const child = spawn(node, [...program, "up", "--foreground", ...repeated(args)], {
    detached: true,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  await serving(child, directory, log);
  child.unref();
}

/**
 * What the agent before wrote stays: why it ended may stand there. On a full disk an agent could neither leave its notes nor say so: what is true of its log is true of them. */
function openLog(path: string): number {
  return written(path, () => {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > LOG_KEPT)
      renameSync(path, `${path}.1`);
    const log = openSync(path, "a", 0o600);
    writeSync(log, `${dateNow()} ${STARTING}\n`);
    return log;
  });
}

async function serving(child: ChildProcess, directory: string, log: string): Promise<void> {
  const until = performance.now() + STARTED_WITHIN_MS;
  while (runningAgent(directory)?.pid !== child.pid) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw errors.agentDidNotStart(lastWords(log) ?? `it ended by ${howEnded(child)}.`, log);
    if (performance.now() > until) {
      child.kill();
      throw errors.agentDidNotStart(`it is not ready after ${STARTED_WITHIN_MS / 1000} s.`, log);
    }
    await pause(20);
  }
}

/** The options again, for the process that stays. */
const repeated = ({ gpu, mode, policy, set, port }: Args<typeof options>): string[] => [
  ...["--gpu", gpu, "--mode", mode, "--policy", policy, "--port", String(port)],
  ...set.flatMap((rule) => ["--set", rule]),
];

async function report(asJson: boolean): Promise<number> {
  const agent = agentHere();
  const status = await askStatus(agent);
  if (asJson) {
    console.log(JSON.stringify(status, null, 2));
    return 0;
  }
  const gpus = status.gpus.map((gpu) => `  ${describeGpu(gpu)}`);
  const kind = agent.gpu === "soft" ? "the software GPU" : `${gpus.length} GPU(s)`;
  console.log(`Agent ${agent.pid} serves ${kind}, mode ${agent.mode}, policy ${agent.policy}.`);
  for (const line of gpus) console.log(line);
  console.log(
    `Metrics: http://127.0.0.1:${agent.port}/metrics (token in ${pathsIn(ownRunDirectory()).file})`,
  );
  console.log("Next: cotenant run --class high -- COMMAND…");
  return 0;
}

/** What it said for people to read. Of one that was killed, or crashed, there is none. */
function lastWords(log: string): string | undefined {
  const all = readFileSync(log, "utf8").split("\n");
  const lines = all.slice(all.findLastIndex((line) => line.endsWith(` ${STARTING}`)));
  const own = lines.findLast((line) => line.startsWith("cotenant: "));
  return own?.slice("cotenant: ".length);
}

const howEnded = ({ exitCode, signalCode }: ChildProcess): string =>
  signalCode ?? `status ${exitCode}`;
