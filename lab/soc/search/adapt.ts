// D-HaX-CoNN: planning while the networks run in a loop. Each loop begins with the best plan known at that moment. The
// solver continues beside it, and a better plan applies from the next loop on. When the set of networks changes, the
// current loop ends with its plan, and the next one starts with a naive plan of the new set.

import type { Problem } from "../problem/types.ts";
import { improve, type Solution } from "./solve.ts";
import { makespanMs } from "./timeline.ts";

export interface Phase {
  /** When this set of networks begins to run, in ms; the first is 0. */
  readonly fromMs: number;
  readonly problem: Problem;
}

export interface Loop {
  readonly phase: number;
  readonly startMs: number;
  readonly latencyMs: number;
  readonly optimal: boolean;
}

export interface Adapting {
  /** How many ms the solver's next slice takes beside the networks. The answer comes from a clock or from a model. */
  readonly sliceMs: (work: () => void) => number;
  /** The factor on a loop's latency while the solver runs concurrently with it. */
  readonly beside: number;
}

/** Runs loops until `untilMs` of virtual time. */
export function adapt(
  phases: readonly Phase[],
  untilMs: number,
  { sliceMs, beside }: Adapting,
): Loop[] {
  const loops: Loop[] = [];
  let now = 0;
  for (const [index, { fromMs, problem }] of phases.entries()) {
    now = Math.max(now, fromMs);
    const until = Math.min(untilMs, phases[index + 1]?.fromMs ?? untilMs);
    const steps = improve(problem);
    let best: Solution | undefined;
    let solved = now;
    let done = false;
    const advance = () => {
      solved += sliceMs(() => {
        const { value, done: ended } = steps.next();
        best = value ?? best;
        done = ended ?? false;
      });
    };
    // Nothing runs before the first plan. Later plans come while loops run.
    while (!best && !done) advance();
    now = Math.max(now, solved);
    while (now < until && best) {
      const running: Solution = best;
      const latencyMs = makespanMs(running.timeline) * (done ? 1 : beside);
      loops.push({ phase: index, startMs: now, latencyMs, optimal: running.optimal });
      now += latencyMs;
      while (!done && solved < now) advance();
    }
  }
  return loops;
}
