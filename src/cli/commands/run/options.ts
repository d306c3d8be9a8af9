import { basename } from "node:path";
import { parseMetricsUrl } from "#agent";
import {
  type ClientOptions,
  findProgram,
  objectiveEnvironment,
  type WithoutAgent,
  whyNotPreloaded,
} from "#client";
import { errors, UserError, usage } from "#core";
import { parseObjective } from "#policy";
import { type ClientClass, Hello, severalRanks, whyNoGang } from "#protocol";
import { type Args, bytes, choice, duration, flag, list, text } from "../../program/command.ts";

const runOptions = {
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
    "neither protected nor held back, though of this class: for jobs of several ranks, which can't be best-effort; status shows them as untracked processes",
  ),
};

export const runLine = {
  name: "run",
  summary: "run a command as a high or best-effort client",
  options: runOptions,
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
} as const;

export type RunArgs = Args<typeof runOptions>;

export interface Run {
  readonly client: ClientOptions;
  readonly objective: Readonly<Record<string, string>>;
}

/** Throws a UserError for options that don't go together, or a job that can't be best-effort. */
export function readRun(args: RunArgs, env: Readonly<Record<string, string | undefined>>): Run {
  if (!args.class) throw errors.missingArgument("run", "--class high|best-effort");
  checkClass(args, args.class);
  if (args.name !== undefined) checkName(args.name);
  const objective = objectiveGiven(args);
  // If Cotenant is switched off, nothing of it may stop the command, not even a missing agent.
  const off = args.ungated || env.COTENANT_OFF === "1";
  const ranks = severalRanks(env);
  const whyNot = ranks && whyNoGang(env);
  if (!off && args.class === "best-effort" && ranks && whyNot)
    throw errors.severalRanks(ranks, whyNot);
  const parkAfter = args["park-after"];
  const parks = args.movable || parkAfter !== undefined;
  const client = {
    kind: args.class,
    name: args.name ?? basename(args.positional[0] ?? ""),
    memory: args.memory,
    movable: parks && (args["park-host"] ?? true),
    parkAfter,
    off,
  };
  return { client, objective };
}

/** A user must read these before the program starts. `cwd`: the caller's folder. */
export function notices(
  { client: { off } }: Run,
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  cwd?: string,
): readonly string[] {
  if (off) return [];
  try {
    const lost = whyNotPreloaded(words, findProgram(words[0] ?? "", env, cwd), env);
    return lost === undefined ? [] : [lost];
  } catch {
    return []; // it can't be executed, as execve says in a moment
  }
}

export function withoutAgent(given: RunArgs, kind: ClientClass): WithoutAgent {
  if (given["wait-agent"]) return "wait";
  return kind === "high" && !given["require-agent"] ? "run" : "refuse";
}

/** It is in bytes: a client's name ends with a zero. */
const LONGEST_NAME = Hello.fields.name.length - 1;

/** Commands find a client by its name, so a name that was given arrives whole or not at all. */
function checkName(name: string): void {
  const bytes = Buffer.byteLength(name);
  if (name.trim() === "") throw usage("--name: the name is empty.");
  if (/\p{Cc}/u.test(name)) throw usage("--name: the name holds a control character.");
  if (bytes > LONGEST_NAME)
    throw usage(`--name: the name has ${bytes} bytes; ${LONGEST_NAME} are the most.`);
}

function objectiveGiven(given: RunArgs): Record<string, string> {
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
function checkClass(given: RunArgs, kind: ClientClass): void {
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
