// Asks Z3 for better and better makespans until there is none. That is a proof independent of our search.
import { UserError } from "#core";
import { proofFailed } from "../problem/errors.ts";
import type { Plan, Problem } from "../problem/types.ts";
import { OPTIMALITY_GAP } from "../search/search.ts";
import { assignmentNames, exact, otherThan, priorityNames, relaxed } from "./formulate.ts";
import { openZ3, type Session } from "./worker.ts";

export interface Proof {
  /** The makespan of the best plan that Z3 found; undefined if it found none, or none below what it was given. */
  readonly makespanMs: number | undefined;
  readonly plan: Plan | undefined;
  /** Whether Z3 proved that no plan is better by more than OPTIMALITY_GAP. */
  readonly optimal: boolean;
}

/**
 * `below`: Z3 looks only for plans with a smaller makespan; Infinity lets it start by itself. With a value slightly
 * above a claimed optimum, Z3 finds an equal plan and proves much sooner that none is better. When time is up, returns
 * what it has. `clock`: in milliseconds. Throws a UserError if Z3 cannot be asked about the problem, fails or cannot be
 * loaded.
 */
export async function prove(
  problem: Problem,
  clock: () => number,
  limitMs: number,
  below = Infinity,
): Promise<Proof> {
  const text = relaxed(problem);
  const until = clock() + limitMs;
  let session: Session | undefined;
  try {
    session = await openZ3(limitMs);
    return await descend(session, problem, text, below, () => Math.max(0, until - clock()));
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw proofFailed(error instanceof Error ? error.message : String(error));
  } finally {
    await session?.close();
  }
}

/** Z3 has two solvers for linear arithmetic. This is the one that is faster here. */
const OPTIONS = "(set-option :pp.decimal true)(set-option :smt.arith.solver 2)";

/**
 * Z3 names an assignment that could be better according to the relaxed problem, and then solves exactly that one. If
 * that gives a better plan, the bound is lowered; otherwise another assignment is tried. The proof is complete when
 * none is left.
 */
async function descend(
  session: Session,
  problem: Problem,
  text: string,
  below: number,
  leftMs: () => number,
): Promise<Proof> {
  let best: Proof = { makespanMs: undefined, plan: undefined, optimal: false };
  const ask = (what: string) => session.ask(what, leftMs());
  const bound = (ms: number) => ask(`(assert (< makespan ${ms.toFixed(9)}))`);
  await ask(`${OPTIONS}\n${text}`);
  if (below < Infinity) await bound(below);
  for (;;) {
    const could = (await ask("(check-sat)"))?.trim();
    if (could === "unsat") return { ...best, optimal: true };
    if (could !== "sat") return best;
    const assignment = await readAssignment(session, problem);
    await ask(`(push)\n${exact(problem, assignment)}`);
    const can = (await ask("(check-sat)"))?.trim();
    if (can !== "sat" && can !== "unsat") return best;
    if (can === "sat") best = await readProof(session, problem, assignment);
    await ask("(pop)");
    if (can === "sat") await bound((best.makespanMs ?? 0) * (1 - OPTIMALITY_GAP));
    else await ask(otherThan(problem, assignment));
  }
}

/** Without a time limit, because Z3 has the model already. */
const values = async (session: Session, terms: readonly string[]) =>
  (await session.ask(`(get-value (${terms.join(" ")}))`, Infinity)) ?? "";

async function truths(session: Session, terms: readonly string[]): Promise<boolean[]> {
  const said = await values(session, terms);
  return [...said.matchAll(/ (true|false)\)/g)].map(([, one]) => one === "true");
}

async function readAssignment(session: Session, problem: Problem): Promise<number[][]> {
  const assignment: number[][] = [];
  for (const names of assignmentNames(problem))
    assignment.push((await truths(session, names)).map((second) => (second ? 1 : 0)));
  return assignment;
}

async function readProof(
  session: Session,
  problem: Problem,
  assignment: readonly (readonly number[])[],
): Promise<Proof> {
  const ends = problem.networks.map(({ groups }, n) => `e${n}_${groups.length - 1}`);
  const times = await values(session, ends);
  const priority: number[][] = [];
  for (const rows of priorityNames(problem)) {
    const ahead: number[] = [];
    for (const row of rows) {
      const terms = row.filter((one) => one !== undefined);
      ahead.push(terms.length === 0 ? 0 : (await truths(session, terms)).filter(Boolean).length);
    }
    priority.push(ahead.map((_, n) => n).sort((n, m) => (ahead[m] ?? 0) - (ahead[n] ?? 0)));
  }
  return { makespanMs: largest(times), plan: { assignment, priority }, optimal: false };
}

/** The largest of the values as Z3 writes them: `(e0_5 3.5)`, or with a ? behind the digits if there are more. */
const largest = (said: string): number =>
  Math.max(0, ...[...said.matchAll(/\(e\d+_\d+ ([\d.]+)\??\)/g)].map(([, value]) => Number(value)));

/**
 * The largest of `claims` (makespans in ms, rising) below which Z3 proves that there is no plan within the time, by the
 * relaxed problem alone; undefined if it proves none.
 */
export async function provenBelow(
  problem: Problem,
  clock: () => number,
  limitMs: number,
  claims: readonly number[],
): Promise<number | undefined> {
  const until = clock() + limitMs;
  const session = await openZ3(limitMs);
  let proven: number | undefined;
  try {
    const ask = (what: string) => session.ask(what, Math.max(0, until - clock()));
    await ask(`${OPTIONS}\n${relaxed(problem)}`);
    for (const claim of claims) {
      const could = await ask(`(push)(assert (< makespan ${claim.toFixed(9)}))(check-sat)(pop)`);
      if (could?.trim() !== "unsat") break;
      proven = claim;
    }
  } finally {
    await session.close();
  }
  return proven;
}
