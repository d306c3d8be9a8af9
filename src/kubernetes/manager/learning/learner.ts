// Training runs between two decisions, in a time that is bounded and measured (decision 0053).
import {
  type BusyPair,
  type DecidedBy,
  logSlowdownRule,
  retainedRule,
  type TrainedForecast,
  trainForecast,
} from "#predict";
import type { PairRow } from "../../labels/pair.ts";
import type { LearnedForecast, LearnedForecasts, PairWorkloads } from "../state/forecast.ts";
import { WorkloadDemands } from "../worth/demands.ts";
import { keyOf } from "../worth/pair-rows.ts";
import { type ModelPairs, pairsByModel } from "./rows.ts";

const TRAIN_EVERY_MS = 600_000;
const MAX_FORECASTS = 100_000;
const MAX_ROWS = 5000;

export interface LearningSummary {
  readonly gpu: string;
  readonly retained: FigureSummary;
  readonly slowdown: FigureSummary;
}

interface FigureSummary {
  readonly by: DecidedBy;
  readonly pairs: number;
  readonly wins: number;
}

interface Trained {
  readonly pairs: ModelPairs;
  readonly measured: ReadonlySet<string>;
  readonly forecasts: Map<string, LearnedForecast | undefined>;
  readonly retained: TrainedForecast;
  readonly slowdown: TrainedForecast;
}

const pairKey = ({ service, job }: PairWorkloads): string => `${service}\n${job}`;

export class PairLearner implements LearnedForecasts {
  readonly demands = new WorkloadDemands();
  readonly #rows = new Map<string, PairRow>();
  #trained = new Map<string, Trained>();
  #recalled: readonly LearningSummary[] = [];
  #hasNews = false;
  #due = Number.NEGATIVE_INFINITY;
  readonly #workloads = new Set<string>();

  add(rows: Iterable<PairRow>): void {
    for (const row of rows) {
      const key = keyOf(row);
      const known = this.#rows.get(key);
      // A row of a report may be older than what a Pairing has shown since.
      if (known && known.at >= row.at && (known.ended !== undefined || row.ended === undefined))
        continue;
      this.#rows.delete(key);
      this.#rows.set(key, row);
      this.#hasNews = true;
    }
    for (const key of this.#rows.keys()) {
      if (this.#rows.size <= MAX_ROWS) break;
      this.#rows.delete(key);
    }
  }

  recall(before: readonly LearningSummary[]): void {
    this.#recalled = before;
  }

  /** `now`: monotonic ms; `wallNow`: ms since 1970. Returns whether it has trained. */
  trainIfDue(now: number, wallNow: number, mostSlowdown: number): boolean {
    if (!this.#hasNews || now < this.#due) return false;
    this.#due = now + TRAIN_EVERY_MS;
    this.#hasNews = false;
    const all = pairsByModel(this.#rows.values(), mostSlowdown, wallNow, this.demands);
    this.#trained = new Map([...all].map(([model, pairs]) => [model, this.#train(model, pairs)]));
    this.#workloads.clear();
    for (const { retained, slowdown } of all.values())
      for (const { job, service } of [...retained, ...slowdown])
        this.#workloads.add(job).add(service);
    return true;
  }

  #train(model: string, pairs: ModelPairs): Trained {
    const before = this.#trained.get(model) ?? this.#recalled.find(({ gpu }) => gpu === model);
    const { retained, slowdown } = pairs;
    return {
      pairs,
      forecasts: new Map(),
      measured: new Set([...retained, ...slowdown].map(pairKey)),
      retained: trainForecast(retained, retainedRule, before?.retained.wins),
      slowdown: trainForecast(slowdown, logSlowdownRule, before?.slowdown.wins),
    };
  }

  kindOf(workload: string): string {
    const isKnown =
      this.#workloads.has(workload) || (this.#trained.size > 0 && this.demands.knows(workload));
    return isKnown ? workload : "";
  }

  of(names: PairWorkloads, model: string, load: number): LearnedForecast | undefined {
    const trained = this.#trained.get(model);
    if (trained === undefined) return undefined;
    // A decision asks for each pair of kinds several times, and loads come in steps.
    const soloBusy =
      trained.pairs.busy.get(names.job) ??
      this.demands.busyOf(names.job, model) ??
      trained.pairs.usualBusy;
    const key = `${pairKey(names)}\n${load}\n${soloBusy}`;
    const before = trained.forecasts.get(key);
    if (before !== undefined || trained.forecasts.has(key)) return before;
    const forecast = forecastOf(trained, { ...names, load, soloBusy });
    if (trained.forecasts.size >= MAX_FORECASTS) trained.forecasts.clear();
    trained.forecasts.set(key, forecast);
    return forecast;
  }

  isMeasured(pair: PairWorkloads, model: string): boolean {
    return this.#trained.get(model)?.measured.has(pairKey(pair)) ?? false;
  }

  get summaries(): readonly LearningSummary[] {
    const figure = ({ by, pairs, wins }: TrainedForecast): FigureSummary => ({ by, pairs, wins });
    return [...this.#trained].map(([gpu, { retained, slowdown }]) => ({
      ...{ gpu, retained: figure(retained), slowdown: figure(slowdown) },
    }));
  }
}

function forecastOf({ retained, slowdown }: Trained, pair: BusyPair): LearnedForecast | undefined {
  const from = retained.by === "prior" ? slowdown.by : retained.by;
  if (from === "prior") return undefined;
  const slowed = slowdown.predict(pair);
  const { value, low, high } = retained.predict(pair);
  return {
    ...{ from, retained: value },
    bounds: retained.by === "prior" ? undefined : { low, high },
    slowdown:
      slowdown.by === "prior"
        ? undefined
        : {
            value: Math.exp(slowed.value),
            low: Math.exp(slowed.low),
            high: Math.exp(slowed.high),
          },
    pairs: retained.by === "prior" ? slowdown.pairs : retained.pairs,
  };
}
