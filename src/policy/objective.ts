// The objective of a high client, as people write it.
import { errors, parseDuration, UserError, usage } from "#core";
import type { Objective } from "./policy.ts";
import { requestKinds } from "./requests/requests.ts";

/**
 * Texts such as "p99=10ms", "slowdown=5%" and "ttft.p99=200ms". The last of a kind counts. Throws a UserError. `source`:
 * where the texts stand, for its message.
 */
export function parseObjective(texts: readonly string[], source = "--slo"): Objective {
  let objective: Objective = { p99Us: undefined, slowdown: undefined };
  const stated = new Set<string>();
  for (const text of texts) {
    const [kind = "", goal = ""] = text.split(/=(.*)/s);
    const read = readers.get(kind);
    if (!read)
      throw usage(
        `${source}: "${text}" is neither p99=TIME nor slowdown=PERCENT, nor ttft.p99=TIME, tpot.p99=TIME, itl.p99=TIME or e2e.p99=TIME.`,
      );
    if (stated.has(kind)) throw usage(`${source}: ${kind} is stated twice.`, "Leave one out.");
    stated.add(kind);
    try {
      objective = read(objective, goal);
    } catch (error) {
      throw error instanceof UserError ? errors.badOption(`${source} ${text}`, error) : error;
    }
  }
  return objective;
}

const readers = new Map<string, (was: Objective, goal: string) => Objective>([
  ["p99", (was, goal) => ({ ...was, p99Us: time(goal) })],
  ["slowdown", (was, goal) => ({ ...was, slowdown: part(goal) })],
  ...requestKinds.map((kind) => {
    const read = (was: Objective, goal: string) => ({
      ...was,
      requests: { ...was.requests, [kind]: time(goal) },
    });
    return [`${kind}.p99`, read] as const;
  }),
]);

// A client publishes whole microseconds and thousandths, and 0 for no objective.
const LONGEST_US = 3600e6;
const MOST = 100;

function time(text: string): number {
  const us = parseDuration(text);
  if (us >= 1 && us <= LONGEST_US) return us;
  throw errors.badQuantity(text, `from 1us to ${LONGEST_US / 1e6}s`);
}

function part(text: string): number {
  const match = /^(\d+(?:\.\d+)?)%$/.exec(text);
  if (!match) throw errors.badQuantity(text, "a percentage such as 5%");
  const slowdown = Number(match[1]) / 100;
  if (slowdown >= 0.001 && slowdown <= MOST) return slowdown;
  throw errors.badQuantity(text, `from 0.1% to ${MOST * 100}%`);
}
