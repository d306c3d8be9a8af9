import { resolve } from "node:path";
import {
  claimDirectory,
  logLine,
  openNvml,
  pathsIn,
  runningAgent,
  type Scope,
  startAgent,
  startInBackground,
} from "#agent";
import { askStatus, machineRunDirectory, ownRunDirectory, ownUid } from "#client";
import {
  dateNow,
  errors,
  isFile,
  itself,
  SYSTEM_DIRECTORY,
  SYSTEM_GRANTS,
  systemClock,
  usage,
} from "#core";
import { parseOverrides, policies, policyNamed } from "#policy";
import { ruleNames } from "#protocol";
import { type Args, choice, command, flag, json, list, number, text } from "../command.ts";
import { describeGpu } from "./status.ts";

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
    `fix one rule of the gate, whatever the policy says (docs/guide/policies.md): ${ruleNames.join(", ")}`,
  ),
  port: number(
    "N",
    0,
    "HTTP port on loopback, for metrics and status; 0 or not given: any free one",
    { max: 65535, whole: true },
  ),
  system: flag(
    `one agent for all users of this machine, in ${SYSTEM_DIRECTORY}; grants say who may be what (docs/guide/tenants.md)`,
  ),
  grants: text(
    "FILE",
    undefined,
    `with --system: what this machine allows to whom; ${SYSTEM_GRANTS} if that exists and none is given`,
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
    "cotenant up --system --grants grants.json",
  ],
  async run(args) {
    // The options are checked here, so that mistakes do not end up in the log of the background process.
    policyNamed(args.policy);
    parseOverrides(args.set);
    if (args.system && args.mode === "mps") throw errors.mpsOfOneUser();
    if (args.grants !== undefined && !args.system)
      throw usage("--grants is for --system: an agent of one's own serves one user alone.");
    const directory = directoryFor(args);
    claimDirectory(directory, ownUid(), scopeOf(args));
    const running = runningAgent(directory);
    if (running) throw errors.agentRunning(running.pid, directory);
    if (args.foreground) return await stay(directory, args);
    if (args.gpu === "auto") openNvml();
    await startInBackground(directory, ["up", "--foreground", ...repeatOptions(args)]);
    return await report(directory, args.json);
  },
});

async function stay(directory: string, args: Args<typeof options>): Promise<number> {
  process.umask(0o077);
  const grants = args.grants ?? (isFile(SYSTEM_GRANTS) ? SYSTEM_GRANTS : undefined);
  const { command: node, args: program } = itself();
  const agent = await startAgent({
    directory,
    scope: scopeOf(args),
    grants: args.system ? grants : undefined,
    uid: ownUid(),
    gpu: args.gpu === "soft" ? "soft" : "nvidia",
    mode: args.mode,
    policy: policyNamed(args.policy),
    overrides: parseOverrides(args.set),
    port: args.port,
    env: process.env,
    clock: systemClock,
    log: (event, facts) => console.error(`${dateNow()} ${logLine(event, facts)}`),
    variantProgram: {
      command: node,
      args: [...program, "make-variants", pathsIn(directory).variants],
    },
  });
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => void agent.stop(signal));
  // A terminal that closes sends SIGHUP to end what runs in it. Without a terminal, SIGHUP asks a daemon to open its
  // log again, which this one does not need.
  process.on("SIGHUP", () => void (process.stderr.isTTY && agent.stop("SIGHUP")));
  await agent.stopped;
  return 0;
}

/** The options as words, for the background process. */
const repeatOptions = (args: Args<typeof options>): string[] => {
  const { gpu, mode, policy, set, port, system, grants } = args;
  return [
    ...["--gpu", gpu, "--mode", mode, "--policy", policy, "--port", String(port)],
    ...(system ? ["--system"] : []),
    ...(grants === undefined ? [] : ["--grants", resolve(grants)]),
    ...set.flatMap((rule) => ["--set", rule]),
  ];
};

const scopeOf = ({ system }: Args<typeof options>): Scope => (system ? "machine" : "user");

const directoryFor = ({ system }: Args<typeof options>): string =>
  system ? machineRunDirectory() : ownRunDirectory();

async function report(directory: string, asJson: boolean): Promise<number> {
  const agent = runningAgent(directory);
  if (!agent) throw errors.noAgent(directory);
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
    `Metrics: http://127.0.0.1:${agent.port}/metrics (token in ${pathsIn(directory).file})`,
  );
  console.log("Next: cotenant run --class high -- COMMAND…");
  return 0;
}
