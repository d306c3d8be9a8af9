// Limits of a decision that an operator may set.

export interface Limits {
  /** A GPU whose service is active for a larger part of the time takes no job. */
  readonly mostActiveShare: number;
  /** Least throughput that a job is to retain, 0 to 1. */
  readonly leastRetained: number;
  /** Largest predicted slowdown factor of a service's requests. */
  readonly mostSlowdown: number;
  /** Least gain of a move in worth, which is retained throughput less what requests pay. */
  readonly leastGain: number;
  /** Seconds that a job stays at least. */
  readonly moveAfterSeconds: number;
  /** Bound of moves and other evictions. */
  readonly evictionsPerMinute: number;
}

export const DEFAULT_LIMITS: Limits = {
  mostActiveShare: 0.95,
  leastRetained: 0.02,
  mostSlowdown: 1.5,
  leastGain: 0.05,
  moveAfterSeconds: 600,
  evictionsPerMinute: 30,
};

/** Whether these limits allow a job where this is expected. `slowdown`: 1 or undefined where none is expected. */
export const allows = (
  { mostSlowdown, leastRetained }: Limits,
  expected: { readonly retained: number; readonly slowdown?: number },
): boolean => (expected.slowdown ?? 1) <= mostSlowdown && expected.retained >= leastRetained;
