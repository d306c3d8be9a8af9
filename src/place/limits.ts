export interface Limits {
  readonly mostActiveShare: number;
  readonly leastRetained: number;
  readonly mostSlowdown: number;
  /** Worth is retained throughput less what requests pay. */
  readonly leastGain: number;
  readonly moveAfterSeconds: number;
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

/** `slowdown` is 1 or undefined where none is expected. */
export const allows = (
  { mostSlowdown, leastRetained }: Limits,
  expected: { readonly retained: number; readonly slowdown?: number },
): boolean => (expected.slowdown ?? 1) <= mostSlowdown && expected.retained >= leastRetained;
