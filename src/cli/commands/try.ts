import { rmSync } from "node:fs";
import { openNvml } from "#agent";
import { askStatus, findAgent, findProgram, ownAgentHere, ownUid } from "#client";
import {
  checkWritable,
  interposer,
  itself,
  type Progress,
  paintFor,
  progressOf,
  temporaryFolder,
  UserError,
  usage,
  writeGiven,
} from "#core";
import { checkMps, surroundingsHere } from "#doctor";
import { parseMetric, parseReady, tryPair, tryReport } from "#measure";
import { type Args, choice, command, flag, json, number, text } from "../program/command.ts";

const options = {
  load: text(
    "COMMAND",
    undefined,
    "a shell command that sends the service requests, started when the service is ready; not given: you send them, or the service makes its own",
  ),
  ready: text(
    "PORT|URL|TEXT",
    undefined,
    "the service is ready when the port accepts connections, the URL answers, or its output has the text; not given: when it uses the GPU",
  ),
  accept: text("PERCENT", "20%", "how much higher the service's p99 may be than alone"),
  "metrics-url": text("URL", undefined, "the service's Prometheus endpoint, with --metric"),
  metric: text(
    "NAME",
    undefined,
    'the histogram of its latency there: NAME or NAME{label="value"}, in seconds unless the name says otherwise; or vllm.ttft, sglang.itl and so on',
  ),
  "latency-command": text(
    "COMMAND",
    undefined,
    "a shell command that runs concurrently with the service and prints the latency of each request: one number in seconds a line",
  ),
  progress: text(
    "REGEX",
    undefined,
    "lines of the training's output that match are steps; not given: its GPU work is counted",
  ),
  seconds: number("S", 5, "length of a window", { min: 0.5, max: 600 }),
  rounds: number("N", 3, "windows of each arrangement", { min: 2, max: 100, whole: true }),
  "warm-up": number("S", 5, "seconds of work that do not count, after each start", { max: 3600 }),
  "start-within": number("S", 300, "how long a job may take until it is ready", { min: 1 }),
  gpu: choice(["auto", "soft"], "auto", "auto: NVIDIA GPUs; soft: the software GPU"),
  "no-mps": flag("leave MPS and mode mps out"),
  out: text("FILE", undefined, "write the result as JSON here"),
  json,
};

type Options = Args<typeof options>;

export const tryCommand = command({
  name: "try",
  summary: "measure your own service and training, alone and together, and say whether to share",
  options,
  positional: {
    name: "-- SERVICE… -- TRAINING…",
    doc: "both command lines as they are without Cotenant, each behind its own --",
    atLeast: 1,
  },
  examples: [
    'cotenant try --ready 8000 --load "python3 load.py" \\\n  -- python3 serve.py -- python3 train.py',
    "cotenant try --gpu soft \\\n  -- cotenant load --rate 60 --seconds 900 \\\n  -- cotenant load --arrivals closed --seconds 900",
  ],
  async run(args) {
    const [service, training] = jobsIn(args.positional);
    const latency = latencyOf(args);
    const accepted = acceptedOf(args.accept);
    const ready = args.ready === undefined ? undefined : parseReady(args.ready);
    const progress = args.progress === undefined ? undefined : regexOf(args.progress);
    if (args.out !== undefined) checkWritable(args.out);
    for (const [program = ""] of [service, training]) findProgram(program, process.env);
    interposer(process.env);
    if (args.gpu !== "soft") openNvml();
    process.env.COTENANT_CONFIG = ""; // the jobs get the options that this gives them, and no others
    const shown = progressOf("try");
    await tellOfAgent(shown);
    const withoutMps = await whyNoMps(args);
    const directory = temporaryFolder("try");
    const stop = new AbortController();
    // `once` would not do: a second signal would end this process and leave its jobs on the GPU.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => stop.abort());
    try {
      const result = await tryPair({
        directory,
        gpu: args.gpu === "soft" ? "soft" : "nvidia",
        uid: ownUid(),
        cotenant: [itself().command, ...itself().args],
        service,
        training,
        load: args.load,
        ready,
        latency,
        progress,
        seconds: args.seconds,
        rounds: args.rounds,
        warmUp: args["warm-up"],
        startWithin: args["start-within"],
        accepted,
        withoutMps,
        command: ["cotenant", ...process.argv.slice(2)].join(" "),
        stop: stop.signal,
        say: (line, leftS) => shown.step(line, leftS),
        warn: (line) => shown.note(line),
      });
      shown.end();
      const document = JSON.stringify(result, null, 2);
      console.log(
        args.json ? document : tryReport(result, process.stdout.columns, paintFor(process.stdout)),
      );
      if (args.out !== undefined) writeGiven(args.out, `${document}\n`);
      return 0;
    } finally {
      shown.end();
      rmSync(directory, { recursive: true, force: true });
    }
  },
});

/** The first "--" has ended the options. */
function jobsIn(
  words: readonly string[],
): readonly [service: readonly string[], training: readonly string[]] {
  const at = words.indexOf("--");
  const [service, training] = [words.slice(0, at), words.slice(at + 1)];
  if (at > 0 && training.length > 0 && !training.includes("--")) return [service, training];
  throw usage(
    training.includes("--") && at > 0
      ? 'There are more than two "--", so it is not clear where the training begins.'
      : "Two commands are needed, each behind its own --: the service, then the training.",
    "Write cotenant try -- SERVICE… -- TRAINING…; put a command that has a -- of its own into sh -c '…'.",
  );
}

function acceptedOf(given: string): number {
  const share = Number(/^(\d+(?:\.\d+)?)\s*%?$/.exec(given.trim())?.[1]) / 100;
  if (share > 0) return share;
  throw usage(`--accept: "${given}" is no percentage above 0.`, "Give one such as 20%.");
}

function regexOf(given: string): RegExp {
  try {
    return new RegExp(given);
  } catch {
    throw usage(`--progress: "${given}" is no regular expression.`);
  }
}

function latencyOf(args: Options) {
  const { "metrics-url": url, metric, "latency-command": program } = args;
  if ((url === undefined) !== (metric === undefined))
    throw usage("--metrics-url and --metric belong together: give both.");
  if (url !== undefined && program !== undefined)
    throw usage("--metrics-url and --latency-command both tell the latency: give one of them.");
  if (url !== undefined && metric !== undefined)
    return { kind: "metric", url, metric: parseMetric(metric) } as const;
  return program === undefined ? undefined : ({ kind: "command", command: program } as const);
}

/** Clients of an agent that runs take the GPU from both jobs, alone and together. */
async function tellOfAgent(shown: Progress): Promise<void> {
  if (!findAgent()) return;
  try {
    const { agent } = ownAgentHere();
    const { gpus } = await askStatus(agent);
    const clients = gpus.flatMap(({ high, bestEffort }) => [...high, ...bestEffort]);
    if (clients.length > 0)
      shown.note(
        `the agent that runs (pid ${agent.pid}) has ${clients.length} client(s) on the GPU: they disturb what is measured; end them first`,
      );
  } catch (error) {
    // Another user's agent tells nothing of its clients; they are found as untracked processes.
    if (!(error instanceof UserError)) throw error;
  }
}

/** The software GPU always has MPS. */
async function whyNoMps(args: Options): Promise<string | undefined> {
  if (args["no-mps"]) return "left out by --no-mps.";
  if (args.gpu === "soft") return undefined;
  const { command, args: rest } = itself();
  const { verdict, says, cure } = await checkMps(surroundingsHere([command, ...rest]));
  return verdict === "pass" ? undefined : `${says} ${cure}`.trim();
}
