// Failures are avoided for a time, ever longer: each attempt is an eviction, which a Job may count.

interface Times {
  readonly first: number;
  readonly max: number;
}

const HOUR_MS = 3_600_000;
const NODE_TIMES: Times = { first: 300_000, max: 24 * HOUR_MS };
/** A service may be another version after days, and its load another. */
const SERVICE_TIMES: Times = { first: 24 * HOUR_MS, max: 7 * 24 * HOUR_MS };
const REMEMBERED = 2;
/** Above this number of controllers or workloads, the oldest are forgotten. */
const MAX_REMEMBERED = 20_000;

interface Failure {
  readonly times: number;
  readonly at: number;
  readonly until: number;
}

/** All times are ms. */
export interface Avoidance {
  add(by: string, what: string, now: number): void;
  now(by: string, now: number): readonly string[];
  ever(by: string): readonly string[];
  forget(now: number): void;
}

export const avoidedNodes = (): Avoidance => avoidedFor(NODE_TIMES);

export const avoidedServices = (): Avoidance => avoidedFor(SERVICE_TIMES);

function avoidedFor({ first, max }: Times): Avoidance {
  const failures = new Map<string, Map<string, Failure>>();
  return {
    add(by, what, now) {
      const own = failures.get(by) ?? new Map<string, Failure>();
      const times = (own.get(what)?.times ?? 0) + 1;
      own.set(what, { times, at: now, until: now + Math.min(max, first * 2 ** (times - 1)) });
      failures.delete(by);
      failures.set(by, own);
    },
    now: (by, now) =>
      [...(failures.get(by) ?? [])]
        .flatMap(([what, { until }]) => (until < now ? [] : [what]))
        .sort(),
    ever: (by) => [...(failures.get(by)?.keys() ?? [])],
    forget(now) {
      for (const [by, own] of failures) {
        for (const [what, { at }] of own) if (now - at > REMEMBERED * max) own.delete(what);
        if (own.size === 0 || failures.size > MAX_REMEMBERED) failures.delete(by);
      }
    },
  };
}
