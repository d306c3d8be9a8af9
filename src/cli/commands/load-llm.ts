import { randomInt } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import {
  checkWritable,
  errors,
  packageVersion,
  progressOf,
  readInput,
  systemClock,
  usage,
  writeGiven,
} from "#core";
import {
  endpoint,
  figuresOf,
  firstModel,
  llmReport,
  MAX_PROMPT_SEED,
  metricsText,
  type PlanOptions,
  parseLengths,
  parseServer,
  parseWarmUp,
  planOf,
  play,
  prefixCacheOf,
  readCacheCounters,
  unevenness,
  warmUp,
} from "#llm";
import { parseArrivals } from "#load";
import { parseRequestObjective } from "#policy";
import {
  type Args,
  choice,
  command,
  flag,
  json,
  list,
  number,
  renamed,
  text,
} from "../program/command.ts";

const count = { min: 1, whole: true };
// They have no fallback in the table: those given together with --trace are known by that.
const usual = { arrivals: "poisson", prompt: "sharegpt", output: "sharegpt" };

const options = {
  url: text("URL", "http://localhost:8000", "an OpenAI-compatible server"),
  model: text("NAME", undefined, "default: the first that the server lists"),
  api: choice(["completions", "chat"], "completions", "which endpoint is asked"),
  prompts: choice(
    ["ids", "words"],
    "ids",
    "token ids, or words for a server that takes text only; a chat always takes words",
  ),
  arrivals: text(
    "KIND",
    undefined,
    `poisson, uniform, bursty, gamma:CV, closed, file:PATH (one ns offset a line), steps:60s@2,60s@4 or trace:PATH?column=NAME&unit=s|ms|us|ns|iso (default: ${usual.arrivals})`,
  ),
  rate: number(
    "R",
    undefined,
    "requests per second: needed by poisson, uniform, bursty and gamma; a trace is stretched to it",
  ),
  depth: number("N", 1, "closed loop: requests in flight", { ...count, max: 100_000 }),
  seconds: number(
    "S",
    undefined,
    "how long requests that count arrive (default: 60, or a file's)",
    {
      min: 0.1,
    },
  ),
  "warm-up": text(
    "N",
    "16",
    "requests before the run, or a time such as 20s of them, that do not count: --depth or 8 at a time, with other prompts, until all are answered; 0: none",
  ),
  omit: number("S", 5, "requests of the run that arrive in its first seconds do not count"),
  prompt: text(
    "TOKENS",
    undefined,
    `length of a prompt: N, lognormal:MEAN,CV, sharegpt or alpaca (default: ${usual.prompt})`,
  ),
  output: text("TOKENS", undefined, `length of an answer, likewise (default: ${usual.output})`),
  trace: text(
    "FILE",
    undefined,
    "arrivals and lengths of a CSV file with the columns of the Azure LLM inference trace 2023 or of BurstGPT",
  ),
  from: number("S", 0, "with --trace: seconds of the trace that are left out at its start"),
  "max-prompt": renamed(
    "most-prompt",
    number("TOKENS", undefined, "longer prompts are cut to this", count),
  ),
  "max-output": renamed(
    "most-output",
    number("TOKENS", undefined, "longer answers are cut to this", count),
  ),
  "stop-at-eos": flag("let the model end an answer before its length"),
  slo: list(
    "OBJECTIVE",
    "of ttft, tpot, itl or e2e a p50, p90, p95, p99 or mean, such as ttft.p99=200ms",
  ),
  timeout: number("S", 600, "a request that takes longer has failed", { min: 1, max: 86_400 }),
  seed: number("N", 1, "of arrivals and lengths", { whole: true, max: 2 ** 20 }),
  "prompt-seed": number(
    "N",
    undefined,
    "of the prompts' tokens (default: another one in each run, so that no run is served from the cache of an earlier one)",
    { whole: true, max: MAX_PROMPT_SEED },
  ),
  each: text("FILE", undefined, "write the figures of each request, one JSON document a line"),
  json,
};

/** A terminal shows one line, anything else keeps them all. */
const TELL_NS = process.stderr.isTTY ? 1e9 : 10e9;

type Options = Args<typeof options>;

export const loadLlmCommand = command({
  name: "load-llm",
  summary: "requests to an LLM server (vLLM, SGLang, …): TTFT, TPOT, tokens per second, goodput",
  options,
  examples: [
    "cotenant load-llm --rate 4 --seconds 60 \\\n  --slo ttft.p99=500ms --slo tpot.p99=50ms",
    "cotenant load-llm --arrivals closed --depth 16 \\\n  --prompt 512 --output 128",
  ],
  async run(args) {
    const objectives = args.slo.map((text) => ({ text, ...parseRequestObjective(text) }));
    const warmUpLength = parseWarmUp(args["warm-up"]);
    const newPlan = () => planOf(planOptions(args), (path) => readText(path));
    const plan = newPlan();
    const uneven = unevenness(plan, args);
    if (uneven !== undefined) console.error(`load-llm: ${uneven}`);
    const server = parseServer(args.url);
    if (args.each !== undefined) checkWritable(args.each);
    const key = process.env.OPENAI_API_KEY;
    const headers = {
      "user-agent": `cotenant/${packageVersion()}`,
      ...(key ? { authorization: `Bearer ${key}` } : {}),
    };
    const model = args.model ?? (await firstModel(server, headers));
    const stop = new AbortController();
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
    const shown = progressOf("load-llm");
    const promptSeed = args["prompt-seed"] ?? randomInt(MAX_PROMPT_SEED);
    let told = 0;
    const playing = {
      target: { url: endpoint(server, args.api), headers, timeoutMs: args.timeout * 1000 },
      body: { ...args, model, stopAtEos: args["stop-at-eos"], promptSeed },
      depth: args.depth,
      now: systemClock.now,
      stop: stop.signal,
      tell(begun: number, done: number) {
        const at = systemClock.now();
        if (at - told < TELL_NS) return;
        told = at;
        shown.step(`${begun} requests sent, ${begun - done} in flight`);
      },
    };
    const cacheCounters = async () => readCacheCounters((await metricsText(server, headers)) ?? "");
    const warmedUp = await warmUp(warmUpLength, newPlan(), playing);
    const cacheBefore = await cacheCounters();
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    setTimeout(() => delay.reset(), plan.omit * 1000).unref();
    const { sent, beginNs } = await play(plan, playing);
    delay.disable();
    shown.end();
    const prefixCache = prefixCacheOf(cacheBefore, await cacheCounters());
    const countedNs = beginNs + plan.omit * 1e9;
    const stoppedS = stop.signal.aborted
      ? Math.max(0, systemClock.now() - countedNs) / 1e9
      : plan.seconds;
    const span = { beginNs: countedNs, seconds: Math.min(plan.seconds, stoppedS) };
    const { figures, requests } = figuresOf(sent, span, objectives);
    const result = {
      version: 1,
      url: server.href,
      model,
      command: ["cotenant", ...process.argv.slice(2)].join(" "),
      ...figures,
      warmUp: warmedUp,
      promptSeed,
      prefixCache: prefixCache ?? null,
      stopped: stop.signal.aborted,
      // Times are too late by as much as this program's own event loop kept an event waiting.
      clientDelayMs: { p50: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6 },
    };
    const title = `${server.href} ${model}`;
    console.log(
      args.json
        ? JSON.stringify(result)
        : llmReport(title, figures, {
            delayMs: result.clientDelayMs.p99,
            warmUp: warmedUp,
            promptSeed,
            prefixCache,
          }),
    );
    if (args.each !== undefined)
      writeGiven(args.each, requests.map((one) => `${JSON.stringify(one)}\n`).join(""));
    return figures.ended > 0 ? 0 : 1;
  },
});

function planOptions(args: Options): PlanOptions {
  const { trace, rate, from, seed, seconds } = args;
  const common = {
    omit: args.omit,
    seconds,
    seed,
    maxPrompt: args["max-prompt"],
    maxOutput: args["max-output"],
  };
  if (rate !== undefined && rate <= 0) throw usage("--rate must be more than 0.");
  if (trace !== undefined) {
    for (const option of ["arrivals", "prompt", "output"] as const)
      if (args[option] !== undefined)
        throw usage(`--${option} does not go with --trace: the trace says what is to be sent.`);
    return { ...common, traffic: { trace: { path: trace, rate, from } } };
  }
  if (from > 0) throw usage("--from is for --trace: it leaves out the start of a trace.");
  const arrivals = parseArrivals(args.arrivals ?? usual.arrivals, rate);
  if (args.depth > 1 && arrivals.kind !== "closed")
    throw usage("--depth is for --arrivals closed: an open loop sends each request as it arrives.");
  return {
    ...common,
    traffic: {
      arrivals,
      prompt: parseLengths(args.prompt ?? usual.prompt, "prompt"),
      output: parseLengths(args.output ?? usual.output, "output"),
    },
  };
}

function readText(path: string): string {
  try {
    return readInput(path).toString();
  } catch (error) {
    throw errors.inputNotRead("trace", path, error);
  }
}
