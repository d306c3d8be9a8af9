// Compares what a node would write of a pair (decision 0043) with what its jobs printed meanwhile.
import { percent, quantile, table } from "#core";
import type { PairFigures } from "#kubernetes";
import { rate } from "#measure";

/** Times are CLOCK_MONOTONIC in ns. */
export interface Span {
  readonly fromNs: number;
  readonly toNs: number;
}

export interface PairSample {
  readonly service: string;
  readonly training: string;
  readonly figures: PairFigures;
  /** GPU time of the training's kernels a second in the span `concurrent`, from the agent; undefined: unknown. */
  readonly busy: number | undefined;
  /** When each iteration of the training was done, by its own report. */
  readonly doneNs: readonly number[];
  readonly solo: readonly Span[];
  readonly concurrent: Span;
  /** Service times of requests in ns, by the service's own report. */
  readonly requests: {
    readonly solo: readonly number[];
    readonly concurrent: readonly number[];
  };
  /** Time that the pair took, without the start of its processes. */
  readonly seconds: number;
}

interface Figures {
  readonly retained: number;
  /** Quantiles of the service concurrent with the training, over those solo. */
  readonly p50: number;
  readonly p99: number;
}

export interface LabelRow {
  readonly service: string;
  readonly training: string;
  readonly label: Figures & {
    readonly by: PairFigures["by"];
    readonly seconds: number;
    readonly load: number;
    readonly perS: number | undefined;
    readonly soloPerS: number | undefined;
    /** Retained by the GPU time of kernels in place of their number; undefined: unknown. */
    readonly byKernelTime: number | undefined;
    readonly service: PairFigures["service"];
  };
  readonly truth: Figures & {
    /** Iterations a second. */
    readonly perS: number;
    readonly soloPerS: number;
    readonly soloSeconds: number;
    readonly ms: { readonly solo: Quantiles; readonly concurrent: Quantiles };
    readonly requests: { readonly solo: number; readonly concurrent: number };
  };
  /** Label - truth. */
  readonly error: Figures;
  /** Why forecasts do not learn from it; undefined: they do. */
  readonly missing: string | undefined;
  readonly seconds: number;
}

interface Quantiles {
  readonly p50: number;
  readonly p99: number;
}

/** The error of a label that decision 0043 bears. */
const MAX_ERROR = 0.05;

export function rowOf(sample: PairSample): LabelRow {
  const { service, training, figures, seconds } = sample;
  const label = { ...ratiosOf(figures), retained: figures.retained };
  const { by, load, perS, soloPerS, soloBusy } = figures;
  const truth = truthOf(sample);
  return {
    ...{ service, training, seconds },
    label: {
      ...{ ...label, by, seconds: figures.seconds, load, perS, soloPerS },
      byKernelTime: sample.busy !== undefined && soloBusy ? sample.busy / soloBusy : undefined,
      service: figures.service,
    },
    ...{ truth, missing: missingIn(figures) },
    error: {
      retained: label.retained - truth.retained,
      p50: label.p50 - truth.p50,
      p99: label.p99 - truth.p99,
    },
  };
}

function missingIn({ by, seconds, service }: PairFigures): string | undefined {
  if (by !== "work") return `retained is by ${by} after ${seconds} s`;
  return service === undefined ? "the agent has no times of the service at equal load" : undefined;
}

/** NaN while the agent knows no times of the service. */
function ratiosOf({ service }: PairFigures): Quantiles {
  const { p50Us = Number.NaN, soloP50Us = Number.NaN } = service ?? {};
  const { p99Us = Number.NaN, soloP99Us = Number.NaN } = service ?? {};
  return { p50: p50Us / soloP50Us, p99: p99Us / soloP99Us };
}

function truthOf({ doneNs, solo, concurrent, requests }: PairSample): LabelRow["truth"] {
  const soloSeconds = solo.reduce((sum, { fromNs, toNs }) => sum + (toNs - fromNs) / 1e9, 0);
  const iterations = solo.reduce((sum, span) => sum + countIn(doneNs, span), 0);
  const soloPerS = iterations / soloSeconds;
  const perS = rate(doneNs, concurrent.fromNs, concurrent.toNs);
  const ms = { solo: quantilesOf(requests.solo), concurrent: quantilesOf(requests.concurrent) };
  return {
    ...{ perS, soloPerS, soloSeconds, ms, retained: perS / soloPerS },
    p50: ms.concurrent.p50 / ms.solo.p50,
    p99: ms.concurrent.p99 / ms.solo.p99,
    requests: { solo: requests.solo.length, concurrent: requests.concurrent.length },
  };
}

/** Iterations under way at an edge count by their fractions. */
const countIn = (doneNs: readonly number[], { fromNs, toNs }: Span): number =>
  (rate(doneNs, fromNs, toNs) * (toNs - fromNs)) / 1e9;

const quantilesOf = (ns: readonly number[]): Quantiles => ({
  p50: quantile(ns, 0.5) / 1e6,
  p99: quantile(ns, 0.99) / 1e6,
});

/** For people. */
export function tableOf(rows: readonly LabelRow[]): string {
  const ratio = (n: number) => n.toFixed(3);
  const signed = (n: number) => `${n < 0 ? "" : "+"}${n.toFixed(3)}`;
  const lines = rows.map(({ service, training, label, truth, error, seconds }) => [
    `${service}+${training}`,
    ...[ratio(label.retained), ratio(truth.retained), signed(error.retained)],
    label.byKernelTime === undefined ? "" : ratio(label.byKernelTime),
    ...[ratio(label.p50), ratio(truth.p50), signed(error.p50)],
    ...[ratio(label.p99), ratio(truth.p99), signed(error.p99)],
    ...[percent(label.load), seconds.toFixed(0)],
  ]);
  const heads = ["retained", "truth", "error", "by kernel time", "p50", "truth", "error"];
  return [
    ...table([["pair", ...heads, "p99", "truth", "error", "load", "s"], ...lines], 1),
    "",
    verdictOf(rows),
  ].join("\n");
}

function verdictOf(rows: readonly LabelRow[]): string {
  if (rows.length === 0) return "No pair was compared.";
  const errors = rows.map(({ error }) => Math.abs(error.retained));
  const met = errors.filter((error) => error <= MAX_ERROR).length;
  const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return [
    `Retained: ${met} of ${rows.length} labels err by at most ${MAX_ERROR}; the mean is ${mean.toFixed(3)}, the largest ${Math.max(...errors).toFixed(3)}.`,
    ...missingOf(rows),
  ].join("\n");
}

/** A sentence for each pair from which forecasts would not learn. */
export const missingOf = (rows: readonly LabelRow[]): readonly string[] =>
  rows.flatMap(({ service, training, missing }) =>
    missing === undefined ? [] : [`There is no label of ${service}+${training}: ${missing}.`],
  );
