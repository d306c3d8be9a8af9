import { expect, test } from "vitest";
import { minimalStandard } from "#core";
import { exampleProblem } from "../../../test/soc/example.ts";
import type { Plan, Problem } from "../problem/types.ts";
import { permutations } from "../search/naive.ts";
import { OPTIMALITY_GAP } from "../search/search.ts";
import { solve } from "../search/solve.ts";
import { makespanMs, timeline } from "../search/timeline.ts";
import { exact, relaxed } from "./formulate.ts";
import { prove, provenBelow } from "./prove.ts";
import { openZ3 } from "./worker.ts";

const clock = () => performance.now();

test("Z3 without a claim finds what the search finds, and no better plan", async () => {
  const problem = exampleProblem({ networks: 2, groups: 2, maxTransitions: 4, seed: 3, limit: 70 });
  const ours = makespanMs(solve(problem, () => 0).timeline);
  const proof = await prove(problem, clock, Infinity);
  expect(proof.optimal).toBe(true);
  expect(Math.abs((proof.makespanMs ?? 0) - ours)).toBeLessThan(2 * OPTIMALITY_GAP * ours);
  if (!proof.plan) throw new Error("a makespan has a plan");
  // Z3's plan on our timeline: both must agree on the makespan.
  expect(makespanMs(timeline(problem, proof.plan))).toBeCloseTo(proof.makespanMs ?? 0, 5);
}, 600_000);

test("given a claim, Z3 finds a plan as good, or says that there is none", async () => {
  const problem = exampleProblem({ networks: 2, groups: 3, maxTransitions: 2, seed: 2, limit: 80 });
  const ours = makespanMs(solve(problem, () => 0).timeline);
  const found = await prove(problem, clock, Infinity, ours * (1 + OPTIMALITY_GAP));
  expect(found.optimal).toBe(true);
  expect(found.makespanMs).toBeCloseTo(ours, 5);
  const beyond = await prove(problem, clock, Infinity, ours * (1 - 2 * OPTIMALITY_GAP));
  expect(beyond).toEqual({ makespanMs: undefined, plan: undefined, optimal: true });
}, 600_000);

test("a makespan below which Z3 proves that there is no plan is at most the optimum", async () => {
  const problem = exampleProblem({ networks: 2, groups: 2, maxTransitions: 4, seed: 3, limit: 70 });
  const ours = makespanMs(solve(problem, () => 0).timeline);
  const claims = [0.5, 0.7, 0.9, 1.1, 1.3].map((part) => part * ours);
  const proven = await provenBelow(problem, clock, Infinity, claims);
  expect(proven).toBeGreaterThanOrEqual(0.5 * ours);
  expect(proven).toBeLessThanOrEqual(ours);
}, 600_000);

test("the relaxed problem is true of our plan, and an assignment's makespan is the timeline's", async () => {
  const problem = mixed();
  const z3 = await openZ3(Infinity);
  try {
    await z3.ask(relaxed(problem), Infinity);
    for (const [i, plan] of plansOf(problem).entries()) {
      const ms = makespanMs(timeline(problem, plan));
      const judge = async (bound: string) =>
        (
          await z3.ask(
            `(push)${exact(problem, plan.assignment)}${prefer(plan)}(assert (${bound}))(check-sat)(pop)`,
            Infinity,
          )
        )?.trim();
      expect(await judge(`< makespan ${(ms + 1e-6).toFixed(9)}`), `plan ${i}`).toBe("sat");
      expect(await judge(`< makespan ${(ms - 1e-6).toFixed(9)}`), `plan ${i}`).toBe("unsat");
    }
  } finally {
    await z3.close();
  }
}, 600_000);

/**
 * Three networks of 3, 2 and 1 groups: one follows another, one group is a join, and transitions cost time both ways.
 */
function mixed(): Problem {
  const problem = exampleProblem({ networks: 3, groups: 3, maxTransitions: 4, seed: 5, limit: 70 });
  return {
    ...problem,
    networks: problem.networks.map((network, n) => ({
      ...network,
      after: n === 2 ? [0] : [],
      groups: network.groups.slice(0, 3 - n).map((group, i) => ({
        ...group,
        inMs: [0.02, 0.03],
        inputs: i === 2 ? [0, 1] : group.inputs,
      })),
    })),
  };
}

function plansOf(problem: Problem): Plan[] {
  const random = minimalStandard(11);
  const coin = () => (random() < 0.5 ? 0 : 1);
  const orders = permutations(3);
  const order = () => orders[Math.floor(6 * random())] ?? [];
  return Array.from({ length: 3 }, () => ({
    assignment: problem.networks.map(({ groups }) => groups.map(coin)),
    priority: [order(), order()],
  }));
}

/** Asserts the plan's order of priority. */
function prefer({ priority }: Plan): string {
  return priority
    .flatMap((order, a) =>
      order.flatMap((n, i) =>
        order
          .slice(i + 1)
          .map((m) => (n < m ? `(assert p${a}_${n}_${m})` : `(assert (not p${a}_${m}_${n}))`)),
      ),
    )
    .join("");
}

test("Z3 reads exactly what it was sent, however long; text that it can't read gives no answer", async () => {
  const z3 = await openZ3(Infinity);
  try {
    const names = Array.from({ length: 500 }, (_, i) => `a_rather_long_name_for_a_number_${i}`);
    for (const name of names)
      expect(await z3.ask(`(declare-const ${name} Int)(assert (> ${name} 0))`, Infinity)).toBe("");
    expect(await z3.ask(`(assert (< (+ ${names.join(" ")}) 501))(check-sat)`, Infinity)).toBe(
      "sat\n",
    );
    expect(await z3.ask(`(assert (> ${names[7]} 1))(check-sat)`, Infinity)).toBe("unsat\n");
    await expect(z3.ask("(assert (< nobody 1))(check-sat)", Infinity)).rejects.toThrow("nobody");
  } finally {
    await z3.close();
  }
}, 600_000);

test("running out of time gives no proof", async () => {
  const problem = exampleProblem({ networks: 2, groups: 3, maxTransitions: 2, seed: 3, limit: 80 });
  expect(await prove(problem, clock, 0)).toEqual({
    makespanMs: undefined,
    plan: undefined,
    optimal: false,
  });
});

test.each([
  ["objective is not latency", { objective: "throughput" as const }],
  ["other than two accelerators", { accelerators: [] }],
])("a problem that Z3 can't be asked about is refused: %s", (why, change) => {
  const problem = {
    ...exampleProblem({ networks: 2, groups: 2, maxTransitions: 4, seed: 1 }),
    ...change,
  };
  expect(() => relaxed(problem)).toThrow(why);
});
