import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { type Bytes, UserError, usage } from "#core";
import { awaits, loadCuda, type Plan, parseArrivals, type Run, runLoad, shapes } from "#load";
import { type Args, bytes, choice, command, flag, json, number, text } from "./command.ts";

const none = 0 as Bytes;
const count = { min: 1, whole: true };

const options = {
  shape: choice(shapes, "compute", "what the kernels are bound by; mixed alternates"),
  kernels: number("N", 10, "kernels in a request", count),
  "kernel-us": number("US", 50, "duration of one kernel"),
  sms: number("N", 0, "SMs a kernel takes; 0 = all", { whole: true }),
  graph: flag("submit a request as one CUDA graph"),
  arrivals: text(
    "KIND",
    "poisson",
    "poisson, uniform, bursty, closed, file:PATH (one ns offset a line) or steps:10s@20,10s@60",
  ),
  rate: number("R", undefined, "requests per second"),
  seconds: number("S", 10, "how long requests arrive"),
  warmup: number("S", 0.5, "seconds of requests back to back before the first that counts"),
  "copy-in": bytes("BYTES", none, "copied in for each request"),
  "copy-out": bytes("BYTES", none, "copied out of each request"),
  depth: number("N", 1, "closed loop: requests in flight", count),
  await: choice(awaits, "stream", "how completion is noticed"),
  streams: number("N", 1, "streams, taken by requests in turn", count),
  memory: bytes("BYTES", none, "device memory to hold, unused"),
  seed: number("N", 1, "of the arrivals", { whole: true }),
  marks: text("FILE", undefined, "write each request's arrival, start and done, monotonic ns"),
  json,
};

export const loadCommand = command({
  name: "load",
  summary: "a synthetic client: open-loop requests or a closed loop, no PyTorch needed",
  options,
  async run(args) {
    const plan = planOf(args);
    const stop = new AbortController();
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => stop.abort());
    const origin = process.hrtime.bigint();
    const run = await runLoad(plan, {
      cuda: loadCuda(),
      clock: {
        now: () => Number(process.hrtime.bigint() - origin),
        sleep: (ms) => after(ms, undefined, { signal: stop.signal }).catch(() => undefined),
      },
      stop: stop.signal,
      readText,
      say: (line) => console.error(`load: ${line}`),
    });
    if (args.marks) writeFileSync(args.marks, marks(run, origin));
    console.log(args.json ? JSON.stringify(run.result) : report(run));
    return run.result.intact ? 0 : 1;
  },
});

function planOf(args: Args<typeof options>): Plan {
  const arrivals = parseArrivals(args.arrivals, args.rate);
  if (args["kernel-us"] <= 0) throw usage("--kernel-us must be more than 0.");
  if (args.depth > 1 && arrivals.kind !== "closed")
    throw usage(`--depth is for --arrivals closed: an open loop serves one request at a time.`);
  return {
    ...args,
    arrivals,
    kernelUs: args["kernel-us"],
    copyIn: args["copy-in"],
    copyOut: args["copy-out"],
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new UserError("NO_SUCH_FILE", `The arrivals file ${path} can't be read.`);
  }
}

function marks({ served }: Run, origin: bigint): string {
  const at = (ns: number) => origin + BigInt(Math.round(ns));
  const lines = served.map((r) => `${at(r.arrival)} ${at(r.start)} ${at(r.done)}`);
  return `# arrival start done, monotonic ns\n${lines.join("\n")}\n`;
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
