// Several best-effort jobs on a GPU, which MuxFlow leaves open (section 8), because choosing groups of three or more is
// NP-hard. The heuristic works in rounds. In each, all waiting jobs are matched exactly by what they would add to each
// group. Afterwards single jobs are moved or exchanged while that has a gain. The caller's `worth` enforces the cap on
// the sum of SM shares, and memory: a forbidden group is worth 0.
import { assign, UNMATCHED } from "#place";

export interface SeveralProblem {
  readonly seats: number;
  readonly jobs: number;
  /** The most jobs on one GPU. */
  readonly most: number;
  /** The worth of a group on this seat as a whole, at least 0. A forbidden group is worth 0. */
  worth(seat: number, group: readonly number[]): number;
}

/** The jobs on each seat. */
export function placeSeveral(problem: SeveralProblem): number[][] {
  const groups = placeInLayers(problem);
  while (improve(problem, groups)) fill(problem, groups);
  return groups;
}

/**
 * Without moves and exchanges. A cluster of thousands does the same by kinds
 * (lab/cluster/schedulers/several.ts).
 */
export function placeInLayers(problem: SeveralProblem): number[][] {
  const groups: number[][] = Array.from({ length: problem.seats }, () => []);
  if (problem.seats > 0) fill(problem, groups);
  return groups;
}

/** A smaller gain is rounding, and exchanges for it might never end. */
const MIN_GAIN = 1e-9;

function fill({ seats, jobs, most, worth }: SeveralProblem, groups: number[][]): void {
  for (;;) {
    const placed = new Set(groups.flat());
    const waiting = Array.from({ length: jobs }, (_, job) => job).filter((job) => !placed.has(job));
    if (waiting.length === 0) return;
    const weights = new Float64Array(waiting.length * seats);
    groups.forEach((group, seat) => {
      if (group.length >= most) return;
      const now = worth(seat, group);
      waiting.forEach((job, row) => {
        const gain = worth(seat, [...group, job]) - now;
        if (gain > MIN_GAIN) weights[row * seats + seat] = gain;
      });
    });
    const partners = assign({ rows: waiting.length, columns: seats, weights });
    if (partners.every((seat) => seat === UNMATCHED)) return;
    waiting.forEach((job, row) => {
      groups[partners[row] ?? UNMATCHED]?.push(job);
    });
  }
}

/** Makes the first move of one job, or exchange of two, that has a gain. Returns false if there is none. */
function improve({ most, worth }: SeveralProblem, groups: number[][]): boolean {
  const value = groups.map((group, seat) => worth(seat, group));
  const gain = (a: number, nextA: readonly number[], b: number, nextB: readonly number[]): number =>
    worth(a, nextA) + worth(b, nextB) - (value[a] ?? 0) - (value[b] ?? 0);
  for (const [a, here] of groups.entries())
    for (const job of here)
      for (const [b, there] of groups.entries()) {
        if (b === a) continue;
        const without = here.filter((one) => one !== job);
        const options = there.length < most ? [{ from: without, to: [...there, job] }] : [];
        if (b > a)
          for (const other of there)
            options.push({
              from: [...without, other],
              to: [...there.filter((one) => one !== other), job],
            });
        for (const { from, to } of options)
          if (gain(a, from, b, to) > MIN_GAIN) {
            groups[a] = from;
            groups[b] = to;
            return true;
          }
      }
  return false;
}
