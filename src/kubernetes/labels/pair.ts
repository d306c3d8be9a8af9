// Figures of a pair that nodes write and reports keep (docs/design/decisions/0043-what-a-pair-is-measured-by.md).

/** `work`: submissions a second over the solo rate. `waits`: 1 - the part of the time that work waited. */
type Basis = "work" | "waits";

/** Durations of the service's bursts or steps, us, at equal load. */
export interface ServiceTimes {
  readonly unit: "burst" | "step";
  /** Ends a second. */
  readonly perS: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly soloP50Us: number;
  readonly soloP99Us: number;
}

/** Figures of a pair since it began, or since another pod came or left. */
export interface PairFigures {
  readonly retained: number;
  readonly by: Basis;
  /** Seconds that are in `retained`. */
  readonly seconds: number;
  /** Mean part of the time in which bursts of the service ran, 0 to 1. */
  readonly load: number;
  /** Kernels and graphs that the pod submitted a second; undefined: an older agent. */
  readonly perS?: number;
  /** The same while it had the GPU by itself; undefined until that is known. */
  readonly soloPerS?: number;
  /** GPU time of its kernels a second then; above 1 where they run side by side. */
  readonly soloBusy?: number;
  /** Its slowest service at equal load; undefined until enough is known of it. */
  readonly service?: ServiceTimes;
}

/** The same figures with the setting that they hold for. */
export interface MeasuredPair extends PairFigures {
  /** Policy of the agent. */
  readonly policy: string;
  readonly mode: string;
  /** Model of the GPU. */
  readonly model: string;
  /** Number of other best-effort pods on the GPU. */
  readonly others: number;
}

/** Names of a pod's workload. */
export interface WorkloadNames {
  /** Hash of the programs of its containers, or UID of its controller. */
  readonly workload: string;
  /** NAMESPACE/NAME of its WorkloadProfile; undefined: it names none. */
  readonly profile?: string;
}

/** The job and the service of a pair. */
export interface PairNames {
  readonly job: WorkloadNames;
  readonly service: WorkloadNames;
}

/** A pair in a SharingReport. */
export interface PairRow extends PairNames {
  /** UID of the Pairing. */
  readonly pairing: string;
  readonly predicted: {
    readonly retained: number;
    readonly slowdown?: number;
    readonly from: string;
  };
  readonly measured: MeasuredPair;
  /** Time of the last measurement, RFC 3339. */
  readonly at: string;
  /** `done`, or the cause of the pod's eviction; undefined while the pair runs. */
  readonly ended?: string;
}

/** How a match was chosen, for whoever learns from what came of it. */
export interface Choice {
  /** Probability with which the GPU was chosen. */
  readonly probability: number;
  /** GPUs that could have been chosen, with this one. */
  readonly alternatives: number;
  readonly explored: boolean;
}
