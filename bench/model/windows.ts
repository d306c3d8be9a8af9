// The common part of these scripts: figures of a modelled window, and a file with their provenance.

import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { upperQuantileOfSorted } from "#core";
import type { ModelWindow } from "#gpu";
import { commitOf, rate } from "#measure";

export interface Figures {
  readonly requests: number;
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  readonly latencyP99Ms: number;
  readonly burstP50Ms: number;
  readonly burstP99Ms: number;
  /** Requests of the high job a second. */
  readonly highPerS: number;
  /** Requests or iterations a second of each best-effort job. */
  readonly perS: readonly number[];
  readonly smActivity: number;
  readonly compute: number;
  readonly dram: number;
}

export function figuresOf(window: ModelWindow): Figures {
  const { requests, doneNs, settledNs, endNs, gpu } = window;
  const latency = requests.map(({ latencyNs }) => latencyNs / 1e6);
  const burst = requests.map(({ serviceNs }) => serviceNs / 1e6);
  return {
    requests: requests.length,
    latencyP50Ms: quantile(latency, 0.5),
    latencyP95Ms: quantile(latency, 0.95),
    latencyP99Ms: quantile(latency, 0.99),
    burstP50Ms: quantile(burst, 0.5),
    burstP99Ms: quantile(burst, 0.99),
    highPerS: rate(
      requests.map(({ arrivalNs, latencyNs }) => arrivalNs + latencyNs),
      settledNs,
      endNs,
    ),
    perS: doneNs.map((done) => rate(done, settledNs, endNs)),
    smActivity: gpu.smActivity,
    compute: gpu.compute,
    dram: gpu.dramActivity,
  };
}

const quantile = (values: readonly number[], q: number): number =>
  upperQuantileOfSorted(
    values.toSorted((a, b) => a - b),
    q,
  );

export const median = (values: readonly number[]): number => quantile(values, 0.5);
export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Into bench/results, with the day. */
export function save(name: string, result: object): void {
  const date = new Date().toISOString();
  const script = basename(process.argv[1] ?? "");
  const whole = {
    kind: name,
    date,
    machine: "a model: whose CPU computed it changes nothing",
    commit: commitOf("."),
    command: `npx tsx bench/model/${[script, ...process.argv.slice(2)].join(" ")}`,
    ...result,
  };
  writeFileSync(`bench/results/${date.slice(0, 10)}-${name}.json`, `${JSON.stringify(whole)}\n`);
}
