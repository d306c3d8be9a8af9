import { expect, test } from "vitest";
import { exampleProblem } from "../example.ts";
import { OPTIMALITY_GAP } from "../search.ts";
import { solve } from "../solve.ts";
import { makespanMs, timeline } from "../timeline.ts";
import { formulate } from "./formulate.ts";
import { prove } from "./prove.ts";
import { openZ3 } from "./worker.ts";

const clock = () => performance.now();

test("Z3, by itself, finds what the search finds, and nothing better", async () => {
  const problem = exampleProblem({ networks: 2, groups: 2, maxTransitions: 4, seed: 3, limit: 70 });
  const ours = makespanMs(solve(problem, () => 0).timeline);
  const proof = await prove(problem, clock, Infinity);
  expect(proof.optimal).toBe(true);
  expect(Math.abs((proof.makespanMs ?? 0) - ours)).toBeLessThan(2 * OPTIMALITY_GAP * ours);
  if (!proof.plan) throw new Error("a makespan has a plan");
  // Z3's own plan, by our timeline: the two agree on what follows from a plan.
  expect(makespanMs(timeline(problem, proof.plan))).toBeCloseTo(proof.makespanMs ?? 0, 5);
}, 600_000);

test("what Z3 reads is what it was sent, however long; what it can't read is no answer", async () => {
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

test("out of time is no proof", async () => {
  const problem = exampleProblem({ networks: 2, groups: 3, maxTransitions: 2, seed: 3, limit: 80 });
  expect(await prove(problem, clock, 0)).toEqual({
    makespanMs: undefined,
    plan: undefined,
    optimal: false,
  });
});

test.each([
  ["objective is not latency", { objective: "throughput" as const }],
  ["allows overlap", { overlapMs: 0.1 }],
  ["other than two accelerators", { accelerators: [] }],
])("what Z3 is not asked about is said: %s", (why, change) => {
  const problem = {
    ...exampleProblem({ networks: 2, groups: 2, maxTransitions: 4, seed: 1 }),
    ...change,
  };
  expect(() => formulate(problem)).toThrow(why);
});
