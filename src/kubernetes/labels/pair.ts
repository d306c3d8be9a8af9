// Nodes write figures of pairs, and reports keep them (decision 0043).

/** `work`: submissions a second over the solo rate. `waits`: 1 - the part of time in waiting. */
type Basis = "work" | "waits";

/** Durations of the service's bursts or steps, us, at equal load. */
export interface ServiceTimes {
  readonly unit: "burst" | "step";
  readonly perS: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly soloP50Us: number;
  readonly soloP99Us: number;
}

/** They hold since the pair began, or since another pod came or left. */
export interface PairFigures {
  readonly retained: number;
  readonly by: Basis;
  readonly seconds: number;
  /** It is the mean part of the time in which bursts of the service ran, 0 to 1. */
  readonly load: number;
  /** It counts kernels and graphs submitted a second; undefined: the agent is older. */
  readonly perS?: number;
  /** It is the same while it had the GPU by itself; undefined until that is known. */
  readonly soloPerS?: number;
  /** It is the GPU time of its kernels a second then; above 1 where they run side by side. */
  readonly soloBusy?: number;
  /** Its slowest service at equal load; undefined until enough is known of it. */
  readonly service?: ServiceTimes;
}

export interface MeasuredPair extends PairFigures {
  readonly policy: string;
  readonly mode: string;
  readonly model: string;
  readonly others: number;
}

export interface WorkloadNames {
  /** It is a hash of the programs of its containers, or the UID of its controller. */
  readonly workload: string;
  readonly profile?: string;
}

export interface PairNames {
  readonly job: WorkloadNames;
  readonly service: WorkloadNames;
}

/** Factors by which a service's bursts or steps are longer at equal load. */
export interface BurstForecast {
  readonly slowdown: number;
  readonly low: number;
  /** undefined: no bound is known. */
  readonly high?: number;
}

export interface PairRow extends PairNames {
  readonly pairing: string;
  readonly predicted: {
    readonly retained: number;
    readonly retainedLow?: number;
    readonly retainedHigh?: number;
    readonly slowdown?: number;
    readonly bursts?: BurstForecast;
    readonly from: string;
  };
  readonly measured: MeasuredPair;
  /** It is the time of the last measurement, in RFC 3339. */
  readonly at: string;
  /** `done`, or the cause of the pod's eviction; undefined while the pair runs. */
  readonly ended?: string;
}

export interface Choice {
  readonly probability: number;
  readonly alternatives: number;
  readonly explored: boolean;
}
