import fc from "fast-check";
import { expect, test } from "vitest";
import { UserError } from "#core";
import { bruteForce } from "../../../test/soc/brute.ts";
import { exampleProblem } from "../../../test/soc/example.ts";
import { bestWithIdling } from "../../../test/soc/idling.ts";
import { interpolated, shareOfLimit } from "../problem/slowdown.ts";
import type { Problem } from "../problem/types.ts";
import { naiveBaselines } from "./baselines.ts";
import { cost, energyMj, feasible, gap, transitions, withinBudget } from "./objective.ts";
import { replay } from "./replay.ts";
import { OPTIMALITY_GAP, search } from "./search.ts";
import { improve, type Solution, solve } from "./solve.ts";
import { timeline } from "./timeline.ts";

const noClock = () => 0;

/** Small problems of every kind: pipelines, joins, groups that run on one accelerator only, budgets, overlap. */
const small = (mostGroups: number) =>
  fc
    .record({
      seed: fc.integer({ min: 1, max: 1e6 }),
      networks: fc.constantFrom(1, 2, 2, 3),
      groups: fc.integer({ min: 1, max: mostGroups }),
      maxTransitions: fc.constantFrom(0, 1, 2, 4, Infinity),
      objective: fc.constantFrom("latency" as const, "throughput" as const),
      limit: fc.constantFrom(55, 80, 110, 1000),
      kind: fc.constantFrom(
        "plain",
        "pipeline",
        "only",
        "join",
        "twins",
        "energy",
        "overlap",
        "stepped",
        "three accelerators",
        "one accelerator",
      ),
    })
    .map(({ kind, groups, networks, ...shape }) => {
      const problem = exampleProblem({
        ...shape,
        networks,
        groups: networks === 3 ? Math.min(groups, Math.floor(mostGroups / 2) || 1) : groups,
      });
      return varied(problem, kind);
    });

function varied(problem: Problem, kind: string): Problem {
  const { networks } = problem;
  const [first] = networks;
  if (!first) return problem;
  const changed = (n: number, change: Partial<(typeof networks)[number]>) =>
    networks.map((one, m) => (m === n ? { ...one, ...change } : one));
  switch (kind) {
    case "pipeline":
      return {
        ...problem,
        networks: changed(networks.length - 1, { after: networks.length > 1 ? [0] : [] }),
      };
    case "only":
      return {
        ...problem,
        networks: changed(0, {
          groups: first.groups.map((one, i) =>
            i === 1 ? { ...one, timeMs: [one.timeMs[0] ?? 1, Infinity] } : one,
          ),
        }),
      };
    case "join":
      return {
        ...problem,
        networks: changed(0, {
          groups: first.groups.map((one, i) => (i >= 2 ? { ...one, inputs: [i - 2, i - 1] } : one)),
        }),
      };
    case "twins":
      return { ...problem, networks: networks.map((one) => ({ ...one, groups: first.groups })) };
    case "energy": {
      const all = networks.flatMap(({ groups }) => groups);
      const least = all.reduce((sum, { energyMj }) => sum + Math.min(...energyMj), 0);
      return { ...problem, energyBudgetMj: 1.4 * least };
    }
    case "overlap":
      return { ...problem, overlapMs: 0.05 };
    case "stepped": {
      const slowdown = interpolated({
        own: [20, 50, 80],
        others: [0, 20, 40, 80],
        factor: [
          [1, 1, 1.05, 1.1],
          [1, 1.1, 1.3, 1.5],
          [1, 1.2, 1.5, 2.1],
        ],
      });
      return {
        ...problem,
        accelerators: problem.accelerators.map((one) => ({ ...one, slowdown })),
      };
    }
    case "three accelerators":
      return onAccelerators(problem, [0, 1, 1]);
    case "one accelerator":
      return onAccelerators(problem, [0]);
    default:
      return problem;
  }
}

/**
 * Two networks of at most three groups, on accelerators like those at `like`, each a little slower than the one before.
 */
function onAccelerators(problem: Problem, like: readonly number[]): Problem {
  const pick = (list: readonly number[], slower: number) =>
    like.map((a, i) => (list[a] ?? 0) * slower ** i);
  return {
    ...problem,
    accelerators: like.map((a, i) => ({
      name: `${i}`,
      slowdown: problem.accelerators[a]?.slowdown ?? shareOfLimit(100),
    })),
    networks: problem.networks.slice(0, 2).map((network) => ({
      ...network,
      groups: network.groups.slice(0, 3).map((group) => ({
        ...group,
        timeMs: pick(group.timeMs, 1.1),
        demand: pick(group.demand, 0.9),
        outMs: pick(group.outMs, 1),
        inMs: pick(group.inMs, 1),
        energyMj: pick(group.energyMj, 1),
      })),
    })),
  };
}

test("the search finds what trying every plan finds", () => {
  fc.assert(
    fc.property(small(4), (problem) => {
      const all = bruteForce(problem);
      const tree = search(problem);
      tree.run(Infinity);
      expect(tree.done).toBe(true);
      expect(tree.plan === undefined).toBe(all === undefined);
      if (!all || !tree.plan) return;
      expect(feasible(problem, tree.plan)).toBe(true);
      expect(cost(problem.objective, timeline(problem, tree.plan).endMs)).toBeCloseTo(tree.cost, 6);
      expect(tree.cost - all.cost).toBeLessThanOrEqual(OPTIMALITY_GAP * Math.abs(tree.cost));
      expect(tree.cost - all.cost).toBeGreaterThan(-1e-6);
    }),
    { numRuns: 40 },
  );
});

test.each([1, 2, 4, Infinity])(
  "so it does for 2 x 6 groups with %d transitions",
  (maxTransitions) => {
    const problem = exampleProblem({ networks: 2, groups: 6, maxTransitions, seed: 11, limit: 80 });
    const all = bruteForce(problem)?.cost ?? Number.NaN;
    const found = solve(problem, noClock);
    expect(found.optimal).toBe(true);
    expect(found.cost).toBeGreaterThanOrEqual(all - 1e-6);
    expect(found.cost).toBeLessThanOrEqual(all * (1 + 2 * OPTIMALITY_GAP));
  },
);

test("the first bound and every later one are below the best plan", () => {
  fc.assert(
    fc.property(small(4), (problem) => {
      const all = bruteForce(problem);
      if (!all) return;
      const tree = search(problem);
      for (let slice = 0; slice < 5; slice++) {
        expect(tree.bound).toBeLessThanOrEqual(all.cost + 1e-9);
        tree.run(1);
      }
    }),
    { numRuns: 15 },
  );
});

test("a machine that carries the schedule out step by step ends within 1 % of it", () => {
  fc.assert(
    fc.property(small(6), (problem) => {
      const solution = solved(problem);
      if (!solution) return;
      const { plan, timeline: found } = solution;
      const replayed = replay(problem, plan, found);
      for (const [n, end] of found.endMs.entries())
        expect(Math.abs((replayed[n] ?? Infinity) - end)).toBeLessThan(0.01 * end);
    }),
    { numRuns: 25 },
  );
});

/** Undefined if no plan satisfies the limits. */
function solved(problem: Problem, limitMs = Infinity): Solution | undefined {
  try {
    return solve(problem, noClock, limitMs);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

test("never worse than whole networks on one accelerator, even if stopped at once", () => {
  fc.assert(
    fc.property(small(6), fc.boolean(), (problem, stopped) => {
      const found = solved(problem, stopped ? 0 : Infinity);
      if (!found) return;
      if (!found.optimal) expect(found.gap).toBeGreaterThan(OPTIMALITY_GAP);
      for (const { timeline: naive } of naiveBaselines(problem))
        expect(found.cost).toBeLessThanOrEqual(cost(problem.objective, naive.endMs) + 1e-9);
    }),
    { numRuns: 25 },
  );
});

test("the parts of a schedule fit together", () => {
  fc.assert(
    fc.property(small(6), (problem) => {
      const solution = solved(problem);
      if (!solution) return;
      const { plan, timeline: found } = solution;
      expect(withinBudget(problem, energyMj(problem, plan))).toBe(true);
      for (const assignment of plan.assignment)
        expect(transitions(assignment)).toBeLessThanOrEqual(problem.maxTransitions);
      for (const span of found.spans) {
        const group = problem.networks[span.network]?.groups[span.group];
        const progress = span.pieces.reduce((sum, p) => sum + (p.toMs - p.fromMs) / p.slowdown, 0);
        expect(progress).toBeCloseTo(group?.timeMs[span.accelerator] ?? Number.NaN, 5);
        expect(span.startMs).toBeGreaterThanOrEqual(span.readyMs - 1e-9);
        for (const other of found.spans)
          if (other !== span && other.accelerator === span.accelerator) {
            const shared =
              Math.min(span.endMs, other.endMs) - Math.max(span.startMs, other.startMs);
            expect(shared).toBeLessThanOrEqual(1e-6);
          }
      }
    }),
    { numRuns: 25 },
  );
});

test("a search that is stopped early states a gap to the best plan, and the gap is true", () => {
  const problem = exampleProblem({ networks: 3, groups: 6, maxTransitions: 2, seed: 5 });
  const best = solve(problem, noClock);
  expect(best.optimal).toBe(true);
  let now = 0;
  const early = solve(problem, () => now++, 5);
  expect(early.optimal).toBe(false);
  expect(early.cost * (1 - early.gap)).toBeLessThanOrEqual(best.cost);
  expect(early.cost).toBeGreaterThanOrEqual(best.cost);
});

test("the first plan comes before the search begins, and its gap is true", () => {
  for (const objective of ["latency", "throughput"] as const)
    for (const seed of [1, 2, 3]) {
      const shape = { networks: 2, groups: 4, maxTransitions: 4, seed, objective };
      const problem = exampleProblem(shape);
      const first = improve(problem).next().value;
      const best = bruteForce(problem)?.cost ?? Number.NaN;
      expect(first?.nodes).toBe(0);
      expect(gap(first?.cost ?? 0, best)).toBeLessThanOrEqual(first?.gap ?? 0);
    }
});

test("a network that must change accelerator too often is named", () => {
  const problem = exampleProblem({ networks: 1, groups: 3, maxTransitions: 1, seed: 1 });
  const groups = (problem.networks[0]?.groups ?? []).map((one, i) => ({
    ...one,
    timeMs: i === 1 ? [Infinity, 1] : [1, Infinity],
  }));
  const forced = { ...problem, networks: [{ name: "zigzag", after: [], groups }] };
  expect(() => solve(forced, noClock)).toThrow(
    'Network "zigzag" can\'t be run with 1 transitions: its groups need more accelerators in turn.',
  );
});

test("an energy budget that can't be kept is refused with the energy that is needed", () => {
  const problem = {
    ...exampleProblem({ networks: 2, groups: 2, maxTransitions: 4, seed: 1 }),
    energyBudgetMj: 1,
  };
  expect(() => solve(problem, noClock)).toThrow(
    /need .* mJ at least, more than the budget of 1 mJ/,
  );
});

test.each([0.01, 0.1, 1])(
  "a tolerance of %d ms makes no capacity and no plan worse",
  (overlapMs) => {
    for (const seed of [1, 2, 3, 4]) {
      const strict = exampleProblem({ networks: 3, groups: 3, maxTransitions: 2, seed });
      const found = solve({ ...strict, overlapMs }, noClock);
      expect(found.cost).toBe(solve(strict, noClock).cost);
      for (const a of [0, 1]) {
        const work = found.timeline.spans
          .filter(({ accelerator }) => accelerator === a)
          .map(({ network, group }) => strict.networks[network]?.groups[group]?.timeMs[a] ?? 0);
        expect(work.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(found.cost + 1e-9);
      }
    }
  },
);

test("a budget that is met exactly is kept, though sums of fractions are rounded", () => {
  const groups = [0.1, 0.2].map((energyMj, i) => ({
    ...group(1, 10),
    energyMj: [energyMj, 5],
    inputs: i === 0 ? [] : [i - 1],
  }));
  const problem = {
    ...exampleProblem({ networks: 1, groups: 1, maxTransitions: 4, seed: 1 }),
    networks: [{ name: "a", after: [], groups }],
    energyBudgetMj: 0.3,
  };
  expect(solve(problem, noClock).plan.assignment).toEqual([[0, 0]]);
});

test("no schedule that idles on purpose gains more than what is stated beside optimal", () => {
  let gained = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e6 }),
      fc.constantFrom("latency" as const, "throughput" as const),
      fc.constantFrom(2, 3),
      fc.constantFrom(55, 80, 1000),
      (seed, objective, networks, limit) => {
        const shape = { networks, groups: 2, maxTransitions: 1, seed, objective, limit };
        const problem = exampleProblem(shape);
        const found = solve(problem, noClock);
        const idling = bestWithIdling(problem);
        gained = Math.max(gained, gap(found.cost, idling));
        expect(gap(found.cost, idling)).toBeLessThanOrEqual(found.idlingGap + 1e-9);
      },
    ),
    { numRuns: 15, seed: 1 },
  );
  expect(gained).toBeGreaterThan(0.001);
});

test("two groups that share the memory take as long as the interval formula says", () => {
  const problem: Problem = {
    ...exampleProblem({ networks: 2, groups: 1, maxTransitions: 0, seed: 1 }),
    accelerators: ["gpu", "dla"].map((name) => ({ name, slowdown: shareOfLimit(100) })),
    networks: [
      { name: "a", after: [], groups: [group(1, 90)] },
      { name: "b", after: [], groups: [group(2, 60)] },
    ],
  };
  const plan = {
    assignment: [[0], [1]],
    priority: [
      [0, 1],
      [0, 1],
    ],
  };
  // Both run at 150 % until a is done at 1.5 ms. By then b has done 1 of 2 ms.
  expect(timeline(problem, plan).endMs.map((end) => Number(end.toFixed(9)))).toEqual([1.5, 2.5]);
});

const group = (timeMs: number, demand: number) => ({
  name: "only",
  timeMs: [timeMs, timeMs],
  demand: [demand, demand],
  outMs: [0, 0],
  inMs: [0, 0],
  energyMj: [0, 0],
  inputs: [],
});
