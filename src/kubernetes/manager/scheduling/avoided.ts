// Nodes to which the scheduler could not take pods of a controller. Each time it is tried again later, because every attempt is an
// eviction, and a Job may count it as a failure.

/** A node is avoided for this after the first refusal, and for twice as long after each further one, up to the limit. */
const FIRST_MS = 300_000;
const MAX_MS = 24 * 3_600_000;
/** A refusal that is older than this says nothing any more. */
const REMEMBERED_MS = 2 * MAX_MS;
/** Number of controllers; from the oldest on they are forgotten. */
const MAX_CONTROLLERS = 20_000;

interface Refusal {
  readonly times: number;
  readonly at: number;
  readonly until: number;
}

export interface AvoidedNodes {
  /** All times are ms, as `now`. */
  add(controller: string, node: string, now: number): void;
  /** Nodes that are avoided now. */
  now(controller: string, now: number): readonly string[];
  /** The same, and those that were avoided before. */
  ever(controller: string): readonly string[];
  forget(now: number): void;
}

export function avoidedNodes(): AvoidedNodes {
  const byController = new Map<string, Map<string, Refusal>>();
  return {
    add(controller, node, now) {
      const nodes = byController.get(controller) ?? new Map<string, Refusal>();
      const times = (nodes.get(node)?.times ?? 0) + 1;
      const until = now + Math.min(MAX_MS, FIRST_MS * 2 ** (times - 1));
      nodes.set(node, { times, at: now, until });
      byController.delete(controller);
      byController.set(controller, nodes);
    },
    now: (controller, now) =>
      [...(byController.get(controller) ?? [])]
        .flatMap(([node, { until }]) => (until < now ? [] : [node]))
        .sort(),
    ever: (controller) => [...(byController.get(controller)?.keys() ?? [])],
    forget(now) {
      for (const [controller, nodes] of byController) {
        for (const [node, { at }] of nodes) if (now - at > REMEMBERED_MS) nodes.delete(node);
        if (nodes.size === 0 || byController.size > MAX_CONTROLLERS)
          byController.delete(controller);
      }
    },
  };
}
