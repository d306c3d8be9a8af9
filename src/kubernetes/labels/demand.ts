// Nodes write what a pod's clients ask of a GPU, and reports keep it by workload (decision 0052).

/** They are of the time since the pod came to its GPU, and undefined until they are known. */
export interface DemandFigures {
  readonly seconds: number;
  /** It is the most that its processes had together. */
  readonly memoryBytes: number;
  /** A best-effort pod has GPU time of its kernels a second while it need not wait, 0 to 1. */
  readonly busy?: number;
  /** A service has the median of its bursts or steps by itself, and how many end a second. */
  readonly unit?: "burst" | "step";
  readonly p50Us?: number;
  readonly perS?: number;
}

export interface ObservedClient extends DemandFigures {
  readonly podUid: string;
}

export interface WorkloadRow extends DemandFigures {
  /** It is the hash that rows of pairs have, too. */
  readonly workload: string;
  readonly class: "high" | "best-effort";
  readonly model: string;
  /** It is the time of the last observation, in RFC 3339. */
  readonly at: string;
}
