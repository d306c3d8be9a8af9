// Visits every state that a gang can reach, and reports the first that violates a property, with the steps to it.
import { Protocol, type Setting, type State, type Step } from "./protocol.ts";

export type Property =
  /** While no GPU is held, something goes on until all is done. */
  | "no deadlock"
  /** A collective that has begun ends, whatever is held. */
  | "what has begun ends"
  /** While a GPU is held, no more kernels begin on it than the bound. */
  | "a hold is bounded";

interface Violation {
  readonly property: Property;
  readonly steps: readonly string[];
}

export interface Exploration {
  readonly states: number;
  /** The most kernels that began on a GPU while it was held. */
  readonly mostBegun: number;
  readonly violation: Violation | undefined;
}

interface Visit {
  readonly state: State;
  readonly from: Visit | undefined;
  readonly step: string;
}

/** `bound`: of kernels that may begin on a GPU while it is held. Throws where more than `limit` states are reached. */
export function explore(setting: Setting, bound: number, limit = 2_000_000): Exploration {
  const protocol = new Protocol(setting);
  const first: Visit = { state: protocol.first(), from: undefined, step: "" };
  const seen = new Set([keyOf(first.state)]);
  let mostBegun = 0;
  let frontier: Visit[] = [first];
  while (frontier.length > 0) {
    const next: Visit[] = [];
    for (const visit of frontier) {
      const { state } = visit;
      mostBegun = Math.max(mostBegun, ...state.begun);
      const own = protocol.steps(state);
      const property = violated(protocol, state, own, bound);
      if (property)
        return { states: seen.size, mostBegun, violation: { property, steps: stepsTo(visit) } };
      for (const { name, state: reached } of [...own, ...protocol.surroundings(state)]) {
        const key = keyOf(reached);
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ state: reached, from: visit, step: name });
      }
    }
    if (seen.size > limit) throw new Error(`more than ${limit} states`);
    frontier = next;
  }
  return { states: seen.size, mostBegun, violation: undefined };
}

function violated(
  protocol: Protocol,
  state: State,
  own: readonly Step[],
  bound: number,
): Property | undefined {
  if (Math.max(...state.begun) > bound) return "a hold is bounded";
  // The peers of a dead rank spin until the job's own watchdog ends them, as without Cotenant.
  if (own.length > 0 || state.dead >= 0) return undefined;
  if (protocol.spinning(state).length > 0) return "what has begun ends";
  if (!state.held.includes(true) && !protocol.isDone(state)) return "no deadlock";
  return undefined;
}

function stepsTo(visit: Visit): string[] {
  const steps: string[] = [];
  for (let at: Visit | undefined = visit; at?.from; at = at.from) steps.unshift(at.step);
  return steps;
}

const keyOf = ({ launched, ops, commits, held, left, begun, dead }: State): string =>
  `${launched}|${ops.map((all) => all.join("")).join(",")}|${commits.join("")}|${held.map(Number).join("")}|${left}|${begun}|${dead}`;
