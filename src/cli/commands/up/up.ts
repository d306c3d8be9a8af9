import { resolve } from "node:path";
import {
  appendToLog,
  checkCpus,
  claimDirectory,
  describeGpu,
  formatEntry,
  isStderr,
  type Log,
  type LogFormat,
  logFormats,
  openNvml,
  parseHostLimits,
  pathsIn,
  type Quantum,
  runningAgent,
  type Scope,
  STARTED_WITHIN_MS,
  startAgent,
  startInBackground,
} from "#agent";
import { askStatus, machineRunDirectory, noAgent, ownRunDirectory, ownUid } from "#client";
import {
  cotenantProgram,
  dateNow,
  errors,
  isFile,
  parseDuration,
  SYSTEM_DIRECTORY,
  SYSTEM_GRANTS,
  showAddress,
  systemClock,
  UserError,
  usage,
} from "#core";
import { parseHealth, readingNames } from "#health";
import { parseOverrides, policies, policyNamed } from "#policy";
import { ruleNames } from "#protocol";
import {
  type Args,
  address,
  bytes,
  type Command,
  choice,
  command,
  flag,
  json,
  list,
  number,
  renamed,
  text,
} from "../../program/command.ts";
import { answersIn } from "../run/answer.ts";
import { runFromCopy } from "./kept-build.ts";
import { type Offered, policyOption } from "./offered-policies.ts";

const optionsWith = ({ policies }: Offered) => ({
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
  policy: policyOption(policies),
  set: list(
    "RULE=VALUE",
    `fix one rule of the gate, whatever the policy says (docs/guide/policies.md): ${ruleNames.join(", ")}`,
  ),
  reserve: bytes(
    "BYTES",
    undefined,
    "memory of each GPU that is kept free: best-effort jobs that were started with --movable are parked for it",
  ),
  quantum: text(
    "auto|TIME",
    "auto",
    "how long a best-effort job runs before its memory is parked for another one that does not fit beside it; auto: so long that moving memory takes less than 5 % of the time",
  ),
  port: number(
    "N",
    0,
    "HTTP port on loopback, for metrics and status; 0 or not given: any free one",
    { max: 65535, whole: true },
  ),
  "metrics-address": address(
    "HOST:PORT",
    "where metrics are served besides loopback, such as 0.0.0.0:9464; /status and the rest stay on loopback",
  ),
  "metrics-token": text(
    "FILE",
    undefined,
    "the file of the token that Prometheus needs; made, with mode 600, if there is none; metrics.token in the agent's directory if not given",
  ),
  system: flag(
    `one agent for all users of this machine, in ${SYSTEM_DIRECTORY}; grants say who may be what (docs/guide/tenants.md)`,
  ),
  grants: text(
    "FILE",
    undefined,
    `with --system: what this machine allows to whom; ${SYSTEM_GRANTS} if that exists and none is given`,
  ),
  "on-untracked": renamed(
    "on-stranger",
    text(
      "warn|COMMAND",
      "warn",
      "for each process that comes to a GPU and holds no slot: warn writes a line into the log; a command is run by sh, too, with COTENANT_STRANGER_PID, _UID, _CONTAINER, _POD and _GPU (its UUID) in its environment",
    ),
  ),
  health: list(
    "READING=LIMITS",
    `when a GPU is healthy, unhealthy and over its limit, as three numbers, or off (docs/guide/protection.md): ${[...readingNames, "backOff=SECONDS"].join(", ")}`,
  ),
  "on-health": text(
    "COMMAND",
    undefined,
    "run by sh whenever the health of a GPU changes, with COTENANT_HEALTH_GPU (its UUID), _FROM, _TO and _CAUSE in its environment",
  ),
  "host-guard": list(
    "LIMIT=VALUE",
    "puts best-effort jobs into a cgroup of their own, so that their data loaders leave services the CPUs: cpus=LIST, weight=1 to 10000 (others have 100), memory=BYTES (docs/guide/protection.md); needs root",
  ),
  foreground: flag("do not go into the background, and log to stderr, too"),
  "log-format": choice(logFormats, "text", "how a line of the log is written"),
  json,
});

type Options = Args<ReturnType<typeof optionsWith>>;

export const upWith = (offered: Offered): Command =>
  command({
    name: "up",
    summary: "start the agent for this machine's GPUs",
    options: optionsWith(offered),
    examples: offered.examples,
    async run(args) {
      // Mistakes must not end up in the log of the background process.
      offered.named(args.policy);
      parseOverrides(args.set, console.error);
      parseHealth(args.health);
      checkCpus(parseHostLimits(args["host-guard"]));
      quantumIn(args.quantum);
      if (args.system && args.mode === "mps") throw errors.mpsOfOneUser();
      if (args.grants !== undefined && !args.system)
        throw usage("--grants is for --system: an agent of one's own serves one user alone.");
      const directory = directoryFor(args);
      claimDirectory(directory, ownUid(), scopeOf(args));
      const running = runningAgent(directory);
      if (running) throw errors.agentRunning(running.pid, directory);
      if (args.foreground) return await stay(directory, args, offered);
      if (args.gpu === "auto") openNvml();
      const again = ["up", "--foreground", ...repeatOptions(args)];
      await startInBackground(directory, again, args["log-format"]);
      return await report(directory, args.json);
    },
  });

export const upCommand = upWith({
  policies,
  named: policyNamed,
  examples: [
    "cotenant up --mode mps",
    "cotenant up --gpu soft",
    "cotenant up --set splitProductsUs=0",
    "cotenant up --system --grants grants.json",
  ],
});

const usualFile = () => (isFile(SYSTEM_GRANTS) ? SYSTEM_GRANTS : undefined);

async function stay(directory: string, args: Options, offered: Offered): Promise<number> {
  const { origin, copy } = await runFromCopy(directory, scopeOf(args));
  process.umask(0o077);
  const { command: node, args: program } = cotenantProgram();
  const agent = await startAgent({
    directory,
    scope: scopeOf(args),
    grants: args.system ? (args.grants ?? usualFile()) : undefined,
    uid: ownUid(),
    gpu: args.gpu === "soft" ? "soft" : "nvidia",
    mode: args.mode,
    policy: offered.named(args.policy),
    overrides: parseOverrides(args.set),
    onUntracked: args["on-untracked"],
    reserve: args.reserve,
    quantum: quantumIn(args.quantum),
    health: parseHealth(args.health),
    hostLimits: parseHostLimits(args["host-guard"]),
    onHealth: args["on-health"],
    port: args.port,
    metricsAddress: args["metrics-address"],
    metricsToken: args["metrics-token"],
    env: process.env,
    clock: systemClock,
    log: logTo(pathsIn(directory).log, args["log-format"]),
    build: copy,
    answerLaunch: answersIn(directory, origin),
    variantProgram: {
      command: node,
      args: [...program, "make-variants", pathsIn(directory).variants],
    },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => void agent.stop(signal));
  // A terminal that closes sends SIGHUP to end what runs in it; a daemon is asked to open its log.
  process.on("SIGHUP", () => void (process.stderr.isTTY && agent.stop("SIGHUP")));
  await agent.stopped;
  return 0;
}

/** It is in ns. Shorter turns would be spent on moving memory. */
const SHORTEST_QUANTUM = 100e6;

function quantumIn(text: string): Quantum {
  if (text === "auto") return text;
  try {
    const quantum = parseDuration(text) * 1e3;
    if (quantum < SHORTEST_QUANTUM) throw errors.badQuantity(text, "auto or a time from 100ms on");
    return quantum;
  } catch (error) {
    throw error instanceof UserError ? errors.badOption("--quantum", error) : error;
  }
}

/** `logs` and `events` find the log in the file. */
function logTo(path: string, format: LogFormat): Log {
  const isShown = !isStderr(path);
  return (event, facts = {}) => {
    const line = formatEntry(format, { time: dateNow(), event, facts });
    if (isShown) console.error(line);
    try {
      appendToLog(path, line);
    } catch {
      // A full disk must not end the protection of those who are here.
    }
  };
}

type Repeated = Exclude<keyof Options, "foreground" | "json" | "positional">;

/** The options of the agent in the background. */
function repeatOptions(args: Options): string[] {
  const { gpu, mode, policy, set, port, system, grants, reserve, quantum } = args;
  const { "metrics-address": metricsAddress, "metrics-token": metricsToken } = args;
  const repeated: Readonly<Record<Repeated, readonly string[]>> = {
    gpu: ["--gpu", gpu],
    mode: ["--mode", mode],
    policy: ["--policy", policy],
    port: ["--port", String(port)],
    "log-format": ["--log-format", args["log-format"]],
    "on-untracked": ["--on-untracked", args["on-untracked"]],
    reserve: reserve === undefined ? [] : ["--reserve", String(reserve)],
    quantum: ["--quantum", quantum],
    "host-guard": args["host-guard"].flatMap((limit) => ["--host-guard", limit]),
    health: args.health.flatMap((limits) => ["--health", limits]),
    "on-health": args["on-health"] === undefined ? [] : ["--on-health", args["on-health"]],
    system: [system ? "--system" : "--no-system"],
    grants: grants === undefined ? [] : ["--grants", resolve(grants)],
    "metrics-address":
      metricsAddress === undefined ? [] : ["--metrics-address", showAddress(metricsAddress)],
    "metrics-token": metricsToken === undefined ? [] : ["--metrics-token", resolve(metricsToken)],
    set: set.flatMap((rule) => ["--set", rule]),
  };
  return Object.values(repeated).flat();
}

const scopeOf = ({ system }: Options): Scope => (system ? "machine" : "user");

const directoryFor = ({ system }: Options): string =>
  system ? machineRunDirectory() : ownRunDirectory();

async function report(directory: string, asJson: boolean): Promise<number> {
  const agent = runningAgent(directory);
  if (!agent) throw noAgent(directory);
  // A machine that delays its start delays its answer, too.
  const status = await askStatus(agent, STARTED_WITHIN_MS);
  if (asJson) {
    console.log(JSON.stringify(status, null, 2));
    return 0;
  }
  const gpus = status.gpus.map((gpu) => `  ${describeGpu(gpu)}`);
  const kind =
    agent.gpu === "soft"
      ? "the software GPU"
      : `${gpus.length} ${gpus.length === 1 ? "GPU" : "GPUs"}`;
  console.log(`Agent ${agent.pid} serves ${kind}, mode ${agent.mode}, policy ${agent.policy}.`);
  if (agent.gpu === "soft")
    console.log("It runs no code: times are invented, and results are not computed.");
  for (const line of gpus) console.log(line);
  const { metrics } = status.agent;
  console.log(`Metrics: http://${metrics.address}/metrics (token in ${metrics.tokenFile})`);
  console.log(
    `Dashboard: http://127.0.0.1:${agent.port}/dashboard ("cotenant dashboard --open" brings its token along)`,
  );
  console.log(
    'Next: put "cotenant run --class high --" before the service and "cotenant run --class best-effort --" before the training.',
  );
  return 0;
}
