// What `npm start` runs: a latency-critical client alone, beside an ungated best-effort client, and
// beside a gated one, with an agent of its own in a directory of its own. Whatever happens, nothing is
// left behind.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type GpuKind, openNvml, startAgent } from "#agent";
import { systemClock, UserError } from "#core";
import { policyNamed } from "#policy";
import { ownUid } from "../../client/ask.ts";
import { command, json, number } from "../command.ts";
import { type Load, marksBetween, type Request, startLoad } from "../../bench/demo/load.ts";
import { temporaryFolder } from "../../core/files.ts";
import { micros, percent, table } from "../../core/print.ts";

/** 100 requests of 2 ms a second: a GPU that is busy a fifth of the time, like many. */
const highLoad = [
  "--kernels",
  "20",
  "--kernel-us",
  "100",
  "--arrivals",
  "poisson",
  "--rate",
  "100",
];
/** Always another iteration to run: what a training job is. */
const bestEffortLoad = [
  "--kernels",
  "40",
  "--kernel-us",
  "150",
  "--arrivals",
  "closed",
  "--depth",
  "2",
];

/** Both are serving; the first moments of company don't count. */
const SETTLE_MS = 300;

const arrangements = [
  { name: "high alone", policy: "strict", high: true, bestEffort: false },
  { name: "best-effort alone", policy: "strict", high: false, bestEffort: true },
  { name: "together, no gate", policy: "off", high: true, bestEffort: true },
  { name: "together, gated", policy: "strict", high: true, bestEffort: true },
] as const;

type Arrangement = (typeof arrangements)[number];

interface Outcome {
  readonly arrangement: string;
  readonly policy: string;
  readonly requests: number;
  /** Arrival to done: what a user feels. */
  readonly requestUs: Quantiles | undefined;
  /** Begin of submission to done: what sharing does. */
  readonly serviceUs: Quantiles | undefined;
  readonly iterationsPerS: number | undefined;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

export const demoCommand = command({
  name: "demo",
  summary: "show in some twenty seconds what sharing does to a job, with and without the gate",
  options: { seconds: number("S", 3, "per arrangement", { min: 0.5, max: 600 }), json },
  async run(args) {
    const directory = temporaryFolder("demo");
    const loads = new Set<Load>();
    const tidyUp = () => {
      for (const load of loads) load.kill();
      rmSync(directory, { recursive: true, force: true });
    };
    process.once("exit", tidyUp);
    for (const [signal, status] of [
      ["SIGINT", 130],
      ["SIGTERM", 143],
      ["SIGHUP", 129],
    ] as const)
      process.once(signal, () => process.exit(status));

    const gpu = gpuHere();
    const outcomes: Outcome[] = [];
    for (const [index, arrangement] of arrangements.entries()) {
      console.error(`demo: ${arrangement.name} (${index + 1} of ${arrangements.length})`);
      const place = { directory: join(directory, String(index)), gpu, loads };
      outcomes.push(await measure(arrangement, args.seconds, place));
    }
    const shown = withRatios(outcomes);
    console.log(
      args.json
        ? JSON.stringify({ gpu, seconds: args.seconds, arrangements: shown }, null, 2)
        : report(shown),
    );
    tidyUp();
    return 0;
  },
});

function gpuHere(): GpuKind {
  try {
    openNvml();
    return "nvidia";
  } catch (fault) {
    if (!(fault instanceof UserError) || fault.code !== "NO_GPU") throw fault;
    console.error(
      `demo: ${fault.message} The software GPU takes its place: its times are made up, its waiting is real.`,
    );
    return "soft";
  }
}

interface Place {
  readonly directory: string;
  readonly gpu: GpuKind;
  readonly loads: Set<Load>;
}

async function measure(arrangement: Arrangement, seconds: number, place: Place): Promise<Outcome> {
  const { directory, gpu, loads } = place;
  const agent = await startAgent({
    directory,
    uid: ownUid(),
    gpu,
    mode: "isolated",
    policy: policyNamed(arrangement.policy),
    overrides: {},
    port: 0,
    env: process.env,
    clock: systemClock,
    log: () => {},
  });
  const start = async (kind: "high" | "best-effort", shape: readonly string[]) => {
    const load = startLoad(kind, shape, directory);
    loads.add(load);
    await load.serving;
    return load;
  };
  try {
    // The high one first: it finds out how long its kernels last while it is alone.
    const high = arrangement.high ? await start("high", highLoad) : undefined;
    const bestEffort = arrangement.bestEffort
      ? await start("best-effort", bestEffortLoad)
      : undefined;
    await pause(SETTLE_MS);
    const from = systemClock.now();
    await pause(seconds * 1000);
    const to = systemClock.now();
    const requests = high && marksBetween(await high.stop(), from, to);
    const iterations = bestEffort && marksBetween(await bestEffort.stop(), from, to);
    return {
      arrangement: arrangement.name,
      policy: arrangement.policy,
      requests: requests?.length ?? 0,
      requestUs: requests && quantiles(requests, (request) => request.done - request.arrival),
      serviceUs: requests && quantiles(requests, (request) => request.done - request.start),
      iterationsPerS: iterations && iterations.length / ((to - from) / 1e9),
    };
  } finally {
    for (const load of loads) load.kill();
    loads.clear();
    await agent.stop("the arrangement is over");
  }
}

function quantiles(requests: readonly Request[], ns: (request: Request) => number): Quantiles {
  const sorted = requests.map(ns).sort((a, b) => a - b);
  const at = (q: number) => (sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? 0) / 1000;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Beside each outcome, its ratios to the same client alone. */
function withRatios(outcomes: readonly Outcome[]) {
  const [highAlone, bestEffortAlone] = outcomes;
  return outcomes.map((outcome) => ({
    ...outcome,
    slowdown: {
      requestP50: ratio(outcome.requestUs?.p50, highAlone?.requestUs?.p50),
      requestP99: ratio(outcome.requestUs?.p99, highAlone?.requestUs?.p99),
      serviceP50: ratio(outcome.serviceUs?.p50, highAlone?.serviceUs?.p50),
      serviceP99: ratio(outcome.serviceUs?.p99, highAlone?.serviceUs?.p99),
    },
    retained: ratio(outcome.iterationsPerS, bestEffortAlone?.iterationsPerS),
  }));
}

const ratio = (value: number | undefined, to: number | undefined) =>
  value === undefined || !to ? undefined : value / to;

function report(outcomes: ReturnType<typeof withRatios>): string {
  const times = (factor: number | undefined) =>
    factor === undefined ? "" : `${factor.toFixed(2)}x`;
  const time = (us: number | undefined) => (us === undefined ? "" : micros(us));
  const rows = outcomes.map(({ arrangement, requestUs, serviceUs, slowdown, retained }) => [
    arrangement,
    time(requestUs?.p50),
    times(slowdown.requestP50),
    time(requestUs?.p99),
    times(slowdown.requestP99),
    time(serviceUs?.p50),
    times(slowdown.serviceP50),
    time(serviceUs?.p99),
    times(slowdown.serviceP99),
    retained === undefined ? "" : percent(retained),
  ]);
  return [
    ...table(
      [["", "request p50", "", "p99", "", "service p50", "", "p99", "", "best-effort"], ...rows],
      1,
    ),
    "",
    "request: arrival to completion; service: begin of submission to completion.",
    "Ratios are to the same client alone. best-effort: throughput kept.",
  ].join("\n");
}
