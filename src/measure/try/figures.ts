import type { SlowBurst } from "#agent";
import type { Ratio } from "../figures/stats.ts";
import { mean, meanRatio } from "../figures/stats.ts";
import type { CpuNoise, Noise } from "../noise/noise.ts";
import { noiseOf } from "../noise/noise.ts";
import { type Blocks, countOf, quantileOf, quantileRatio } from "./samples.ts";
import type { TryWindow } from "./stage.ts";
import type { Figures } from "./verdict.ts";
import { isCotenant, type WindowName, wayNamed, ways } from "./ways.ts";

/** Ratios are to the latencies alone. */
export interface LatencyFigures {
  readonly requests: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p50: Ratio;
  readonly p99: Ratio;
}

export interface TryRow {
  readonly name: WindowName;
  readonly title: string;
  readonly bursts: LatencyFigures | undefined;
  readonly app: LatencyFigures | undefined;
  readonly perS: number | undefined; // the unit is `TryFigures.unit`; undefined for the service alone
  readonly retained: Ratio | undefined;
  readonly slowest: readonly (readonly SlowBurst[])[]; // the longest bursts of each round with Cotenant
}

export const units = {
  steps: "steps, by its output",
  launches: "kernels and graphs launched",
  gpuSeconds: "seconds of GPU work",
} as const;

export interface TryFigures {
  readonly rows: readonly TryRow[];
  readonly unit: keyof typeof units;
  readonly judged: "bursts" | "app";
}

const titles: Readonly<Partial<Record<WindowName, string>>> = {
  solo: "service alone",
  alone: "training alone",
};

export function figuresOf(windows: readonly TryWindow[]): TryFigures {
  const unit = unitOf(windows);
  const named = (name: WindowName) => windows.filter((one) => one.name === name);
  // Alone means without Cotenant and without MPS.
  const solo = named("solo").filter(({ mode }) => mode === "isolated");
  const alone = aloneOf(windows, unit).map((one) => speedOf(one, unit));
  const latency = (of: readonly TryWindow[], blocks: (one: TryWindow) => Blocks) => {
    const [base, own] = [solo.map(blocks), of.map(blocks)];
    return {
      requests: countOf(own.flat()),
      p50Ms: quantileOf(own.flat(), 0.5),
      p99Ms: quantileOf(own.flat(), 0.99),
      p50: quantileRatio(base, own, 0.5),
      p99: quantileRatio(base, own, 0.99),
    };
  };
  const row = (name: WindowName, of: readonly TryWindow[], title: string): TryRow => {
    const serves = name !== "alone";
    const speeds = of.map((one) => speedOf(one, unit));
    const trains = name !== "solo";
    return {
      name,
      title,
      bursts: serves ? latency(of, ({ bursts }) => bursts) : undefined,
      app: serves && of[0]?.app ? latency(of, ({ app }) => app ?? []) : undefined,
      perS: trains ? mean(speeds) : undefined,
      retained: trains ? meanRatio(speeds.map((speed) => [mean(alone), speed])) : undefined,
      slowest: isCotenant(name) ? of.map(({ slowest }) => slowest) : [],
    };
  };
  const soloUnderMps = named("solo").filter(({ mode }) => mode === "mps");
  const rows = [
    row("solo", solo, titles.solo ?? ""),
    row("alone", aloneOf(windows, unit), titles.alone ?? ""),
    ...(soloUnderMps.length > 0 ? [row("solo", soloUnderMps, "service alone, MPS")] : []),
    ...ways
      .map(({ name }) => ({ name, of: named(name) }))
      .filter(({ of }) => of.length > 0)
      .map(({ name, of }) => row(name, of, wayNamed(name).title)),
  ];
  return { rows, unit, judged: solo[0]?.app ? "app" : "bursts" };
}

// Launches are counted exactly, unless the library gave cuBLAS products in parts: then there are
// more than the training made.
function unitOf(windows: readonly TryWindow[]): keyof typeof units {
  if (windows.some(({ stepsPerS }) => stepsPerS !== undefined)) return "steps";
  const divided = windows.some(({ work }) => work.to.dividedProducts > 0);
  return divided ? "gpuSeconds" : "launches";
}

/** In the first window the GPU time of the training's work is not known yet. */
function aloneOf(windows: readonly TryWindow[], unit: keyof typeof units): readonly TryWindow[] {
  const all = windows.filter(({ name }) => name === "alone");
  return unit === "gpuSeconds" ? all.slice(-1) : all;
}

function speedOf({ work: { from, to }, stepsPerS }: TryWindow, unit: keyof typeof units): number {
  if (unit === "steps") return stepsPerS ?? Number.NaN;
  return (to[unit] - from[unit]) / ((to.atNs - from.atNs) / 1e9);
}

export const comparable = ({ rows, judged }: TryFigures): Figures[] =>
  rows.flatMap(({ name, retained, ...row }) => {
    const latency = row[judged];
    return name !== "solo" && name !== "alone" && latency && retained
      ? [{ name, p99: latency.p99, retained }]
      : [];
  });

export const requestsAlone = ({ rows, judged }: TryFigures): number =>
  rows.find(({ name }) => name === "solo")?.[judged]?.requests ?? 0;

export function noiseIn(windows: readonly TryWindow[], accepted: number, cpu: CpuNoise): Noise {
  const figures = figuresOf(windows);
  const soloIn = (mode: TryWindow["mode"]) =>
    windows
      .filter((one) => one.name === "solo" && one.mode === mode)
      .map((one) => quantileOf((figures.judged === "app" ? one.app : one.bursts) ?? [], 0.99));
  return noiseOf({
    repeated: [
      { what: "the service's p99 alone", values: soloIn("isolated") },
      { what: "the service's p99 alone under MPS", values: soloIn("mps") },
      {
        what: "the training's speed alone",
        values: aloneOf(windows, figures.unit).map((one) => speedOf(one, figures.unit)),
      },
    ],
    judged: comparable(figures).map(({ name, p99 }) => ({ name: wayNamed(name).title, p99 })),
    tolerance: accepted,
    cpu,
  });
}
