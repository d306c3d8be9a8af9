// What a measurement leaves behind: one JSON document per call, from which every table and chart is made.
// Ratios are to the native solo windows of the same call, with the same arrivals.

export interface BenchResult {
  readonly version: 2;
  readonly kind: "bench";
  /** ISO 8601, when the call began. */
  readonly date: string;
  readonly machine: Machine;
  /** Of the code measured; "-dirty" at the end when the tree had changes. */
  readonly commit: string;
  readonly command: string;
  readonly note: string;
  readonly scenario: ScenarioFacts;
  readonly cells: readonly Cell[];
}

export interface Machine {
  readonly gpu: string;
  readonly driver: string;
  readonly cpu: string;
  readonly cpus: number;
}

export interface ScenarioFacts {
  readonly name: string;
  readonly high: JobFacts;
  readonly bestEffort: readonly JobFacts[];
  /** Of the high job: requests per second x service time alone. Undefined for a closed loop. */
  readonly load: number | undefined;
  readonly ratePerS: number | undefined;
  /** "poisson", "trace", … or "closed". */
  readonly arrivals: string;
  readonly rounds: number;
  /** Of a window that counts, the settling left out. */
  readonly windowSeconds: number;
  /** Objectives of the high job under an agent, such as "slowdown=10%"; undefined: none. */
  readonly slo?: readonly string[];
}

export interface JobFacts {
  /** In the catalogue of jobs, such as "bert-graph". */
  readonly name: string;
  readonly command: string;
  /** What the job said of itself when it was ready. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** One arrangement in one call. */
export interface Cell {
  readonly arrangement: string;
  readonly status: "ok" | "failed";
  /** Of a failed cell: what happened, with the last lines of the job that died. */
  readonly reason?: string;
  /** Those of the agent at the end of the last window, by name; undefined without an agent, and in results of old. */
  readonly rules?: Readonly<Record<string, number>>;
  /** Undefined where the high job did not take part ("alone"), or its cell failed. */
  readonly high?: HighFigures;
  /** Undefined where no best-effort job took part ("solo"), or its cell failed. */
  readonly bestEffort?: BestEffortFigures;
  readonly gpu?: GpuFigures;
  /** Where the load changes by steps. */
  readonly steps?: readonly StepFigures[];
}

/** A figure with its 95 % bootstrap interval (NaN where there was too little for one), and each round's own. */
export interface Ratio {
  readonly value: number;
  readonly low: number;
  readonly high: number;
  readonly rounds: readonly number[];
}

export interface HighFigures {
  readonly requests: number;
  /** Arrival to done, in ms; of a closed loop, from one completion to the next. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number };
  /** Begin of submission to done, in ms. */
  readonly burstMs: { readonly p50: number; readonly p99: number };
  /** Everything submitted to done, in ms, where the service tells: of a burst what it waited for the GPU. */
  readonly waitedMs?: { readonly p50: number; readonly p99: number };
  /** The same, to solo. */
  readonly latency: { readonly p50: Ratio; readonly p95: Ratio; readonly p99: Ratio };
  readonly burst: { readonly p50: Ratio; readonly p99: Ratio };
  /** Completions per second, to solo: 1 in an open loop that keeps up. */
  readonly throughput: Ratio;
  /** Part of the time in which a request was in service. */
  readonly activeShare: Ratio;
}

export interface BestEffortFigures {
  readonly jobs: readonly {
    readonly name: string;
    readonly perS: number;
    /** Throughput to that without the high job. */
    readonly retained: Ratio;
  }[];
  /** Mean over the jobs. */
  readonly retained: Ratio;
  /** retained / (1 - active share): 1 is all that taking turns could give. */
  readonly retainedOfPossible: number | undefined;
  /** Jobs x retained of the slowest-kept (2 x throughput together / alone for a pair): Orion, section 6. */
  readonly costSavings: number | undefined;
}

/** Means over the windows. */
export interface GpuFigures {
  /** Part of the SM-time with a warp resident, 0 to 1 (NVML GPM). */
  readonly smActivity: number | undefined;
  /** Part of the DRAM bandwidth in use, 0 to 1 (NVML GPM). */
  readonly dramActivity: number | undefined;
  /** What came to the GPU over PCIe (NVML GPM). */
  readonly pcieInMiBs?: number | undefined;
  readonly smClockMHz: number | undefined;
  readonly powerW: number | undefined;
}

export interface StepFigures {
  readonly ratePerS: number;
  readonly seconds: number;
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly retained: number;
  /** Time after the step until best-effort throughput is within 10 % of the step's mean; undefined if never. */
  readonly settledMs: number | undefined;
}
