import { type Bytes, checkWritable, usage, writeGiven } from "#core";
import {
  announcer,
  awaits,
  controlFiles,
  driverHere,
  formatMarks,
  type Plan,
  parseArrivals,
  type Run,
  runJob,
  runLoad,
  shapes,
  surroundings,
  type Work,
} from "#load";
import {
  type Args,
  bytes,
  choice,
  command,
  flag,
  json,
  number,
  renamed,
  text,
} from "../program/command.ts";

const none = 0 as Bytes;
const count = { min: 1, whole: true };
// Far more than a request has. Few enough that preparing them and a request take a limited time.
const launches = { ...count, max: 100_000 };
const channels = { ...count, max: 1_000 };
const LONGEST_KERNEL_US = 10e6;

// They have no fallback in the table: those given together with --control are known by that.
const usual = { arrivals: "poisson", seconds: 10 };

const options = {
  shape: choice(shapes, "compute", "what the kernels are bound by; mixed alternates"),
  kernels: number("N", 10, "kernels in a request", launches),
  "kernel-us": number("US", 50, "duration of one kernel", { max: LONGEST_KERNEL_US }),
  sms: number("N", 0, "SMs a kernel takes; 0 or not given: all", { whole: true }),
  waves: number("N", 1, "blocks of a kernel, in rounds of what its SMs hold at once", channels),
  graph: flag("submit a request as one CUDA graph"),
  arrivals: text(
    "KIND",
    undefined,
    `poisson, uniform, bursty, gamma:CV, closed, file:PATH (one ns offset a line), steps:10s@20,10s@2x or trace:PATH?column=NAME&unit=s|ms|us|ns|iso (default: ${usual.arrivals})`,
  ),
  rate: number(
    "R",
    undefined,
    "requests per second: needed by poisson, uniform, bursty and gamma; a trace is stretched to it",
  ),
  seconds: number("S", undefined, `how long requests arrive (default: ${usual.seconds})`),
  warmup: number("S", 0.5, "seconds of requests back to back before the first that counts"),
  "copy-in": bytes("BYTES", none, "copied in for each request"),
  "copy-out": bytes("BYTES", none, "copied out of each request"),
  depth: number("N", 1, "closed loop: requests in flight", count),
  await: choice(awaits, "stream", "how completion is noticed"),
  tokens: number(
    "N",
    0,
    "a request is N times what the others say, as the tokens of an LLM engine, with a short copy before each that is waited for",
    { whole: true, max: 100_000 },
  ),
  report: renamed(
    "tell",
    flag(
      "report each request to Cotenant: its start, its tokens, its end (cotenant_request_begin)",
    ),
  ),
  streams: number("N", 1, "streams, taken by requests in turn", channels),
  memory: bytes("BYTES", none, "device memory to hold, unused"),
  seed: number("N", 1, "of the arrivals", { whole: true }),
  marks: text("FILE", undefined, "write each request's arrival, start and done, monotonic ns"),
  control: text("DIR", undefined, "be a job of a bench, led by the control files in DIR"),
  name: text("NAME", undefined, "with --control: the job's"),
  check: flag("only look whether this could start"),
  json,
};

type Options = Args<typeof options>;

const say = (line: string) => console.error(`load: ${line}`);

export const loadCommand = command({
  name: "load",
  summary: "a synthetic client: open-loop requests or a closed loop, no PyTorch needed",
  options,
  examples: [
    "cotenant run --class high -- \\\n  cotenant load --graph --rate 60",
    "cotenant run --class best-effort -- \\\n  cotenant load --arrivals closed",
  ],
  run(args) {
    const job = jobOf(args);
    if (!job) {
      const plan = planOf(args);
      if (args.marks !== undefined) checkWritable(args.marks);
      return args.check ? checkDriver() : runAlone(plan, args);
    }
    const work = workOf(args);
    return args.check ? checkDriver() : takePart(work, job);
  },
});

async function runAlone(plan: Plan, args: Options): Promise<number> {
  const origin = process.hrtime.bigint();
  const run = await runLoad(plan, surroundings(origin, say));
  console.log(args.json ? JSON.stringify(run.result) : report(run));
  if (args.marks !== undefined) writeGiven(args.marks, formatMarks(run.served, origin));
  return run.result.intact ? 0 : 1;
}

interface Job {
  readonly directory: string;
  readonly name: string;
}

/** All jobs of a bench use the machine's monotonic clock. */
async function takePart(work: Work, { directory, name }: Job): Promise<number> {
  const files = controlFiles(directory);
  await runJob(work, surroundings(0n, say), { name, files, announcer });
  return 0;
}

async function checkDriver(): Promise<number> {
  if (driverHere()) return 0;
  throw usage(
    "libcuda.so.1 was not found: install NVIDIA's driver, or put build/native/softgpu into LD_LIBRARY_PATH for the software GPU.",
  );
}

/** Refuses options whose values the bench decides. */
function jobOf(args: Options): Job | undefined {
  const { control: directory, name } = args;
  if (directory === undefined) {
    if (name !== undefined) throw usage("--name is for --control: it is the name of a job there.");
    return undefined;
  }
  if (name === undefined) throw usage("--control needs --name NAME: the name of the job there.");
  if (!/^[\w.@-]+$/.test(name))
    throw usage(`--name "${name}" is not made of letters, digits and "._@-" alone.`);
  for (const option of ["arrivals", "rate", "seconds", "marks"] as const)
    if (args[option] !== undefined)
      throw usage(
        `--${option} does not go with --control: the control files say what is to be done.`,
      );
  return { directory, name };
}

function planOf(args: Options): Plan {
  const arrivals = parseArrivals(args.arrivals ?? usual.arrivals, args.rate);
  const work = workOf(args);
  if (args.depth > 1 && arrivals.kind !== "closed")
    throw usage(`--depth is for --arrivals closed: an open loop serves one request at a time.`);
  const seconds = args.seconds ?? usual.seconds;
  const requests = requestsOf(arrivals, seconds);
  if (requests > MAX_REQUESTS)
    throw usage(
      `${requests.toPrecision(2)} requests are more than ${MAX_REQUESTS / 1e6} million.`,
      "Give a smaller --rate, or fewer --seconds.",
    );
  return { ...work, arrivals, seconds };
}

/** Arrivals are drawn before the first one. */
const MAX_REQUESTS = 10e6;

/** About so many are drawn; those of files and traces are there already. */
const requestsOf = (arrivals: Plan["arrivals"], seconds: number): number =>
  "rate" in arrivals
    ? arrivals.rate * seconds
    : arrivals.kind === "steps"
      ? arrivals.steps.reduce((sum, step) => sum + step.rate * step.seconds, 0)
      : 0;

function workOf(args: Options): Work {
  if (args["kernel-us"] <= 0) throw usage("--kernel-us must be more than 0.");
  if (args.tokens > 0 && args.depth > 1)
    throw usage("--tokens is for one request at a time: --depth 1.");
  return {
    ...args,
    kernelUs: args["kernel-us"],
    copyIn: args["copy-in"],
    copyOut: args["copy-out"],
  };
}

function report({ result }: Run): string {
  const { gpu, requests, seconds, throughputPerS, latencyUs, serviceUs } = result;
  const row = (name: string, q: { p50: number; p95: number; p99: number; mean: number }) =>
    [
      name.padEnd(16),
      ...[q.p50, q.p95, q.p99, q.mean].map((us) => us.toFixed(1).padStart(11)),
    ].join("");
  return [
    `${gpu}: ${requests} requests in ${seconds.toFixed(1)} s, ${throughputPerS.toFixed(1)} a second`,
    `us              ${["p50", "p95", "p99", "mean"].map((name) => name.padStart(11)).join("")}`,
    row("arrival to done", latencyUs),
    row("service", serviceUs),
    `checksum ${result.checksum.slice(0, 16)}`,
    ...(result.intact ? [] : ["FAILED: not every kernel took place exactly once"]),
  ].join("\n");
}
