// The figures by which a run is judged.

/** One point of the curves. Unless noted, values are means over the quarter of an hour that begins there and all GPUs. */
export interface Point {
  readonly hour: number;
  readonly waiting: number;
  readonly running: number;
  /** Sum of retained throughputs: best-effort work, in GPUs. */
  readonly throughput: number;
  readonly busy: number;
  readonly activity: number;
  readonly memory: number;
  /** Mean latency of requests, divided by that alone. */
  readonly slowdown: number;
  /** p99 latency divided by that alone, averaged over services with their requests as weights. */
  readonly p99Slowdown: number;
}

export interface ServiceFigures {
  readonly name: string;
  readonly meanMs: number;
  readonly p99Ms: number;
  /** Mean latency of the requests, divided by the mean of the same requests alone. */
  readonly meanSlowdown: number;
  readonly p99Slowdown: number;
}

/** Figures of the jobs of one priority. */
export interface LevelFigures {
  readonly priority: number;
  readonly jobs: number;
  /** In seconds. */
  readonly jctMean: number;
  readonly waitingMean: number;
}

export interface Figures {
  readonly scheduler: string;
  readonly seed: number;
  readonly jobs: number;
  /** The jobs that ended before the simulation did. */
  readonly finished: number;
  readonly services: readonly ServiceFigures[];
  /** Each service's mean slowdown, averaged over services with their requests as weights. */
  readonly meanSlowdown: number;
  readonly p99Slowdown: number;
  /** The part of the requests that arrived while a GPU was overloaded and its queue full. */
  readonly turnedAway: number;
  /** In seconds. A job that did not end counts up to the end of the simulation. */
  readonly jctMean: number;
  readonly jctMedian: number;
  readonly jctP95: number;
  readonly makespan: number;
  readonly waitingMean: number;
  /** The highest priority first. One entry if all jobs have the same priority. */
  readonly byPriority: readonly LevelFigures[];
  /** Σ T_separate / Σ T_real over all jobs, 0 to 1. MuxFlow's equation 3 has the fraction inverted. */
  readonly oversold: number;
  /** Means over the simulated time, 0 to 1. */
  readonly busy: number;
  readonly activity: number;
  readonly memory: number;
  readonly starts: number;
  readonly moves: number;
  readonly evictions: number;
  readonly failures: number;
  /** Work that evictions and failures lost, in seconds alone. */
  readonly lost: number;
  /**
   * While services are measured: the GPU-hours alone that the jobs' work is equal to, less the work that was lost and the
   * longer time for which requests kept GPUs busy. And the price of this many hours on dedicated GPUs.
   */
  readonly savedGpuHours: number;
  readonly savedDollars: number;
  readonly series: readonly Point[];
  /** Completion times of all jobs in seconds, in ascending order. */
  readonly jcts: readonly number[];
}
