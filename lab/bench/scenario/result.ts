// The result of a measurement: one JSON document for each call, from which all tables and charts are made. Ratios are
// to the native solo windows of the same call, with the same arrivals.
import type { Machine, Noise, Ratio } from "#measure";

export interface BenchResult {
  readonly version: 2;
  readonly kind: "bench";
  /** When the call began, in ISO 8601. */
  readonly date: string;
  readonly machine: Machine;
  /** The commit of the measured code, with "-dirty" at the end if the tree had changes. */
  readonly commit: string;
  readonly command: string;
  readonly note: string;
  readonly scenario: ScenarioFacts;
  readonly cells: readonly Cell[];
  /** Whether the machine was quiet enough; undefined on the modelled GPU, and in old results. */
  readonly noise?: Noise;
}

export interface ScenarioFacts {
  readonly name: string;
  readonly high: JobFacts;
  readonly bestEffort: readonly JobFacts[];
  /** The high job's requests per second x service time alone. undefined for a closed loop. */
  readonly load: number | undefined;
  readonly ratePerS: number | undefined;
  /** "poisson", "trace", … or "closed". */
  readonly arrivals: string;
  readonly rounds: number;
  /** The length of a window that counts, without settling. */
  readonly windowSeconds: number;
  /** Objectives of the high job under an agent, such as "slowdown=10%"; undefined: none. */
  readonly slo?: readonly string[];
}

export interface JobFacts {
  /** The name in the catalogue of jobs, such as "bert-graph". */
  readonly name: string;
  readonly command: string;
  /** The job's report about itself when it was ready. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** One arrangement in one call. */
export interface Cell {
  readonly arrangement: string;
  readonly status: "ok" | "failed";
  /** For a failed cell: what happened, with the last lines of the job that died. */
  readonly reason?: string;
  /** The agent's rules at the end of the last window, by name; undefined without an agent, and in old results. */
  readonly rules?: Readonly<Record<string, number>>;
  /** undefined if the high job did not take part ("alone"), or if its cell failed. */
  readonly high?: HighFigures;
  /** undefined if no best-effort job took part ("solo"), or if its cell failed. */
  readonly bestEffort?: BestEffortFigures;
  readonly gpu?: GpuFigures;
  /** If the load changes by steps. */
  readonly steps?: readonly StepFigures[];
}

/** In ms, and as ratios to solo. */
export interface BothQuantiles {
  readonly ms: { readonly p50: number; readonly p99: number };
  readonly ratio: { readonly p50: Ratio; readonly p99: Ratio };
}

export interface HighFigures {
  readonly requests: number;
  /** From arrival to done, in ms; in a closed loop, from one completion to the next. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
  /** From begin of submission to done, in ms. */
  readonly burstMs: { readonly p50: number; readonly p99: number };
  /** From the last submission to done, in ms, if the service tells: the wait of a burst. */
  readonly waitedMs?: { readonly p50: number; readonly p99: number };
  /** The same as ratios to solo. */
  readonly latency: { readonly p50: Ratio; readonly p95: Ratio; readonly p99: Ratio };
  readonly burst: { readonly p50: Ratio; readonly p99: Ratio };
  /** Completions per second as a ratio to solo; 1 in an open loop that keeps up. */
  readonly throughput: Ratio;
  /** The part of the time in which a request was in service. */
  readonly activeShare: Ratio;
  /** Time to the first token, if the service makes its answers token by token. */
  readonly ttft?: BothQuantiles;
  /** Time per output token after the first, then; means of requests, those of one token left out. */
  readonly tpot?: BothQuantiles;
}

export interface BestEffortFigures {
  readonly jobs: readonly {
    readonly name: string;
    readonly perS: number;
    /** Throughput as a ratio to that without the high job. */
    readonly retained: Ratio;
  }[];
  /** The mean over the jobs. */
  readonly retained: Ratio;
  /** retained / (1 - the share of the time that the served requests take alone); 1 is the turn bound. */
  readonly retainedOfPossible: number | undefined;
  /**
   * The number of jobs x the smallest retained throughput (for a pair 2 x throughput together / alone): Orion, section
   * 6.
   */
  readonly costSavings: number | undefined;
}

/** Means over the windows. */
export interface GpuFigures {
  /** The part of the SMs' time with a resident warp, 0 to 1 (NVML GPM). */
  readonly smActivity: number | undefined;
  /** The part of the DRAM bandwidth in use, 0 to 1 (NVML GPM). */
  readonly dramActivity: number | undefined;
  /** Traffic to the GPU over PCIe (NVML GPM). */
  readonly pcieInMiBs?: number | undefined;
  readonly smClockMHz: number | undefined;
  readonly powerW: number | undefined;
}

export interface StepFigures {
  readonly ratePerS: number;
  readonly seconds: number;
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly retained: number;
  /** The time from the step until best-effort throughput is within 10 % of the step's mean; undefined if never. */
  readonly settledMs: number | undefined;
}
