// The manager does not repeat a failure for a time, ever longer: neither on a node to which the scheduler could not take
// pods of a controller, nor beside a service that a workload was measured to slow. Each attempt is an eviction, and a Job
// may count it.

/** ms. */
interface Times {
  /** After the first failure; after each further one twice as long, up to `max`. */
  readonly first: number;
  readonly max: number;
}

const HOUR_MS = 3_600_000;
const NODE_TIMES: Times = { first: 300_000, max: 24 * HOUR_MS };
/** A service may be another version after days, and its load another. */
const SERVICE_TIMES: Times = { first: 24 * HOUR_MS, max: 7 * 24 * HOUR_MS };
/** A failure that is this many times as old as `max` says nothing any more. */
const REMEMBERED = 2;
/** Number of controllers or workloads; from the oldest on they are forgotten. */
const MAX_REMEMBERED = 20_000;

interface Failure {
  readonly times: number;
  readonly at: number;
  readonly until: number;
}

/** Failures by controller or workload. All times are ms, as `now`. */
export interface Avoidance {
  add(by: string, what: string, now: number): void;
  /** Those that are avoided now, in order. */
  now(by: string, now: number): readonly string[];
  /** The same, and those that were avoided before. */
  ever(by: string): readonly string[];
  forget(now: number): void;
}

/** Nodes, by the controller of the pods. */
export const avoidedNodes = (): Avoidance => avoidedFor(NODE_TIMES);

/** Controllers of services, by the workload of the pods that slowed them. */
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
