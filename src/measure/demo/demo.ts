// The agent and its directory are removed whatever happens.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type GpuKind, startAgent } from "#agent";
import { leftOf, quantile, systemClock, temporaryFolder } from "#core";
import type { Served } from "#load";
import { policyNamed } from "#policy";
import { watchCpu } from "../noise/cpu.ts";
import { type Noise, noiseOf } from "../noise/noise.ts";
import { type Load, marksBetween, startLoad } from "./load.ts";

/** 100 requests of 2 ms a second keep the GPU busy for a fifth of the time. */
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

const SETTLE_MS = 300;

const arrangements = [
  { name: "high alone", policy: "strict", high: true, bestEffort: false },
  { name: "best-effort alone", policy: "strict", high: false, bestEffort: true },
  { name: "together, no gate", policy: "off", high: true, bestEffort: true },
  { name: "together, gated", policy: "strict", high: true, bestEffort: true },
] as const;

type Arrangement = (typeof arrangements)[number];

export interface Outcome {
  readonly arrangement: string;
  readonly policy: string;
  readonly requests: number;
  readonly requestUs: Quantiles | undefined; // a user notices the time from arrival to done
  readonly serviceUs: Quantiles | undefined; // sharing changes the time from submission to done
  readonly iterationsPerS: number | undefined;
  /** The p99 of `serviceUs` is measured in each half of the time, which shows the noise. */
  readonly halvesUs: readonly number[];
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

export interface DemoOptions {
  readonly gpu: GpuKind;
  readonly seconds: number;
  readonly uid: number;
  /** `leftS`: seconds until all arrangements are done, if that is known. */
  readonly progress: (
    arrangement: string,
    index: number,
    of: number,
    leftS: number | undefined,
  ) => void;
  readonly measured: (outcome: Outcome) => void;
}

export interface Demonstrated {
  readonly arrangements: ReturnType<typeof withRatios>;
  readonly noise: Noise;
}

const TOLERANCE = 0.2; // a smaller difference is not shown

/** An interruption ends this process after everything was removed. */
export async function demonstrate(options: DemoOptions): Promise<Demonstrated> {
  const endOfCpu = await watchCpu();
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
  const outcomes: Outcome[] = [];
  const left = leftOf(arrangements.length);
  for (const [index, arrangement] of arrangements.entries()) {
    options.progress(arrangement.name, index, arrangements.length, left(index));
    const place = { ...options, directory: join(directory, String(index)), loads };
    const outcome = await measure(arrangement, place);
    options.measured(outcome);
    outcomes.push(outcome);
  }
  tidyUp();
  const noise = noiseOf({
    repeated: [{ what: "the p99 of the service alone", values: outcomes[0]?.halvesUs ?? [] }],
    judged: [],
    tolerance: TOLERANCE,
    cpu: endOfCpu(),
  });
  return { arrangements: withRatios(outcomes), noise };
}

interface Place extends DemoOptions {
  readonly directory: string;
  readonly loads: Set<Load>;
}

async function measure(
  arrangement: Arrangement,
  { directory, gpu, seconds, uid, loads }: Place,
): Promise<Outcome> {
  const agent = await startAgent({
    directory,
    uid,
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
    // The high client starts first, because it measures its kernels while it is alone.
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
      requestUs: requests && quantiles(requests.map(({ arrival, done }) => done - arrival)),
      serviceUs: requests && quantiles(requests.map(({ start, done }) => done - start)),
      halvesUs: requests ? halvesUs(requests, (from + to) / 2) : [],
      iterationsPerS: iterations && iterations.length / ((to - from) / 1e9),
    };
  } finally {
    for (const load of loads) load.kill();
    loads.clear();
    await agent.stop("the arrangement is over");
  }
}

function halvesUs(requests: readonly Served[], middle: number): number[] {
  const halves = [
    requests.filter(({ done }) => done < middle),
    requests.filter(({ done }) => done >= middle),
  ];
  return halves.map((half) => quantiles(half.map(({ start, done }) => done - start)).p99);
}

function quantiles(ns: readonly number[]): Quantiles {
  const at = (q: number) => (ns.length === 0 ? 0 : quantile(ns, q) / 1000);
  return { p50: at(0.5), p99: at(0.99) };
}

const withRatios = (outcomes: readonly Outcome[]) => {
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
};

const ratio = (value: number | undefined, to: number | undefined) =>
  value === undefined || !to ? undefined : value / to;
