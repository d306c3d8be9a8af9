// Runs a command as a client of the agent. It sets the environment and replaces this process by the command, so that no
// process of Cotenant stays in between.
import { writeSync } from "node:fs";
import { basename } from "node:path";
import { parseMetricsUrl } from "#agent";
import {
  agentFor,
  become,
  type ClientOptions,
  clientEnvironment,
  environmentAt,
  findAgent,
  ignoreInherited,
  launchEnvironment,
  objectiveEnvironment,
  profileEnvironment,
  socketToCome,
  takeInherited,
  type WithoutAgent,
  waitForGpu,
} from "#client";
import { errors, UserError, usage } from "#core";
import { parseObjective } from "#policy";
import { type ClientClass, Hello, severalRanks } from "#protocol";
import {
  type Args,
  bytes,
  choice,
  command,
  duration,
  flag,
  list,
  text,
} from "../program/command.ts";

const options = {
  class: choice(
    ["high", "best-effort"],
    undefined,
    "high: keeps its latency; best-effort: gets the rest",
  ),
  name: text("NAME", undefined, "shown by status; the command's name if not given"),
  slo: list(
    "KIND=LIMIT",
    "high: an objective. p99 and slowdown are about its bursts (first submission to done, not arrival to done). p99=10ms: 99 % of them take at most so long; slowdown=5%: 99 % of them, or of its steps where bursts make any, wait for the GPU at most so much of their p99 alone longer than alone (of a client whose profile says that it trains: its throughput is at most so much lower). ttft.p99=200ms, and so tpot, itl and e2e, with p50, p90, p95, p99 or mean: that quantile or the mean of its requests, as the program (cotenant_request_begin) or --slo-metrics tells them, is at most so long. Policies cotenant and slo act on it",
  ),
  "slo-metrics": text(
    "URL",
    undefined,
    "high: the service's Prometheus endpoint on loopback, such as http://127.0.0.1:8000/metrics for objectives about requests; vLLM, SGLang, TGI and Triton are known",
  ),
  profile: text(
    "NAME|FILE",
    undefined,
    "its profile on this GPU (cotenant profile), for policies that look at single kernels",
  ),
  memory: bytes(
    "BYTES",
    undefined,
    "best-effort: GPU memory it may allocate; no limit if not given. 20g, 20G, 20Gi and 20GiB are the same (powers of 2); 20GB is 20,000,000,000 bytes",
  ),
  movable: flag(
    "best-effort: its GPU memory can be parked in host memory and returned (cotenant park); as much host memory is pinned for it",
  ),
  "park-after": duration(
    "TIME",
    undefined,
    "high: when it has been idle for this long, its GPU memory is parked in host memory; it comes back at the next request, which waits for that: about 0.02 s per GB, and longer where best-effort jobs have to make room",
  ),
  "park-host": bytes(
    "BYTES",
    undefined,
    "with --movable or --park-after: the most host memory that is pinned; no limit of its own if not given",
  ),
  "require-agent": flag(
    "high: start nothing where no agent runs, as best-effort does; otherwise the command runs unprotected until one is started",
  ),
  "wait-agent": flag("where no agent runs, wait until one does, then start the command"),
  "wait-at-most": duration(
    "TIME",
    undefined,
    "best-effort: while no GPU that it may use takes best-effort work, the command is not started, for at most so long: run then exits with status 75. 0: do not wait; no limit if not given",
  ),
  ungated: flag(
    "neither protected nor held back, though of this class: for jobs of several ranks, which can't be best-effort; status shows them as strangers",
  ),
};

export const runCommand = command({
  name: "run",
  summary: "run a command as a high or best-effort client",
  options,
  positional: {
    name: "-- COMMAND…",
    doc: "what to run, with its arguments",
    atLeast: 1,
    endsOptions: () => true,
  },
  examples: [
    "cotenant run --class high -- python3 serve.py",
    "cotenant run --class high --slo p99=10ms -- ./server",
    "cotenant run --class high --slo tpot.p99=50ms \\\n  --slo-metrics http://127.0.0.1:8000/metrics -- \\\n  ./server",
    "cotenant run --class best-effort --memory 20GiB -- \\\n  python3 train.py",
  ],
  async run(args) {
    const inherited = takeInherited(process.env);
    ignoreInherited(inherited);
    if (!args.class) throw errors.missingArgument("run", "--class high|best-effort");
    checkClass(args, args.class);
    if (args.name !== undefined) checkName(args.name);
    const [program = "", ...rest] = args.positional;
    const objective = objectiveGiven(args);
    // If Cotenant is switched off, nothing of it may stop the command, not even a missing agent.
    const off = args.ungated || process.env.COTENANT_OFF === "1";
    const ranks = severalRanks(process.env);
    if (!off && args.class === "best-effort" && ranks) throw errors.severalRanks(ranks);
    if (off && !findAgent())
      return await become(program, rest, { ...process.env, COTENANT_OFF: "1" }, inherited);
    const name = args.name ?? basename(program);
    const agent = await agentFor(withoutAgent(args, args.class), say);
    const waits = !off && args.class === "best-effort" && !(agent instanceof UserError);
    const wait = { name, atMost: args["wait-at-most"], env: process.env, report: say };
    const found = waits ? await waitForGpu(agent, wait) : agent;
    const parkAfter = args["park-after"];
    const parks = args.movable || parkAfter !== undefined;
    const movable = parks && (args["park-host"] ?? true);
    const options = { kind: args.class, name, memory: args.memory, movable, parkAfter, off };
    const { profile } = args;
    const added =
      found instanceof UserError
        ? unprotected(found, options, profile)
        : {
            ...clientEnvironment(options, found),
            ...(off ? {} : launchEnvironment(options, found)),
            ...(profile === undefined
              ? {}
              : profileEnvironment(profile, found.agent, found.directory)),
          };
    return await become(program, rest, { ...process.env, ...objective, ...added }, inherited);
  },
});

/** In bytes: a client's name ends with a zero. */
const LONGEST_NAME = Hello.fields.name.length - 1;

/** Commands find a client by its name, so a name that was given arrives whole or not at all. */
function checkName(name: string): void {
  const bytes = Buffer.byteLength(name);
  if (name.trim() === "") throw usage("--name: the name is empty.");
  if (/\p{Cc}/u.test(name)) throw usage("--name: the name holds a control character.");
  if (bytes > LONGEST_NAME)
    throw usage(`--name: the name has ${bytes} bytes; ${LONGEST_NAME} are the most.`);
}

function withoutAgent(given: Args<typeof options>, kind: ClientClass): WithoutAgent {
  if (given["wait-agent"]) return "wait";
  return kind === "high" && !given["require-agent"] ? "run" : "refuse";
}

/** The variables of a high client where there is no agent. Says why it is not protected. */
function unprotected(
  { message, hint }: UserError,
  options: ClientOptions,
  profile: string | undefined,
): Record<string, string> {
  const socket = socketToCome();
  const until = socket === undefined ? "" : " until an agent comes";
  const without = profile === undefined ? "" : ", and without its profile";
  const why = `${message.charAt(0).toLowerCase()}${message.slice(1)} ${hint}`.trim();
  say(`"${options.name}" runs unprotected${until}${without}: ${why}`);
  // The interposer does not say it again.
  return { ...environmentAt(socket, options), COTENANT_UNPROTECTED: "1" };
}

/** Not process.stderr, which must not be used before the process becomes another program (become.ts). */
function say(line: string): void {
  try {
    writeSync(2, `cotenant: ${line}\n`);
  } catch {
    // stderr is closed: that is no reason not to start the command
  }
}

function objectiveGiven(given: Args<typeof options>): Record<string, string> {
  const objective = parseObjective(given.slo);
  const metrics = given["slo-metrics"];
  if (!objective.requests && metrics !== undefined)
    throw usage(
      "--slo-metrics is for an objective about requests.",
      "State one, such as --slo ttft.p99=200ms.",
    );
  return objectiveEnvironment(objective, metrics && metricsUrl(metrics));
}

function metricsUrl(text: string): string {
  try {
    return parseMetricsUrl(text);
  } catch (error) {
    throw error instanceof UserError ? errors.badOption("--slo-metrics", error) : error;
  }
}

/** Refuses options that would have no effect, because the user relies on them. */
function checkClass(given: Args<typeof options>, kind: ClientClass): void {
  const { slo, memory } = given;
  if (kind === "best-effort" && slo.length > 0)
    throw usage("--slo is for --class high: best-effort clients have no objective.");
  if (kind === "high" && memory !== undefined)
    throw usage("--memory is for --class best-effort: a high client may allocate what there is.");
  if (kind === "high" && given.movable)
    throw usage(
      "--movable is for --class best-effort.",
      "A high client keeps its memory, unless it is started with --park-after TIME.",
    );
  if (kind === "best-effort" && given["park-after"] !== undefined)
    throw usage(
      "--park-after is for --class high.",
      "A best-effort client is parked if it is started with --movable.",
    );
  if (given["park-after"] === 0)
    throw usage("--park-after 0: a service is idle between any two requests.");
  if (!given.movable && given["park-after"] === undefined && given["park-host"] !== undefined)
    throw usage("--park-host is for --movable and --park-after: without them nothing is parked.");
  if (given["require-agent"] && given["wait-agent"])
    throw usage("--require-agent and --wait-agent exclude each other.");
  if (given["park-host"] === 0)
    throw usage("--park-host 0: nothing could be parked.", "Leave it out for no limit.");
  if (memory === 0) throw usage("--memory 0: a client needs some.", "Leave it out for no limit.");
}
