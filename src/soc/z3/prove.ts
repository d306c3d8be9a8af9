// Asks Z3 for better and better makespans until there is none: a proof that owes nothing to our search.
import { proofFailed } from "../faults.ts";
import { OPTIMALITY_GAP } from "../search.ts";
import type { Plan, Problem } from "../types.ts";
import { assignmentNames, formulate, priorityNames } from "./formulate.ts";
import { openZ3, type Session } from "./worker.ts";

export interface Proof {
  /** Of the best plan that Z3 found; undefined if it found none, or none below what it was given. */
  readonly makespanMs: number | undefined;
  readonly plan: Plan | undefined;
  /** Z3 says that there is nothing better by more than OPTIMALITY_GAP. */
  readonly optimal: boolean;
}

/**
 * `below`: only plans with a smaller makespan are looked for; Infinity for Z3 by itself. Out of time, what it has.
 * `clock`: milliseconds. Throws a UserError for a problem that Z3 isn't asked about, or if Z3 fails or can't be loaded.
 */
export async function prove(
  problem: Problem,
  clock: () => number,
  limitMs: number,
  below = Infinity,
): Promise<Proof> {
  const text = formulate(problem);
  const until = clock() + limitMs;
  let session: Session | undefined;
  try {
    session = await openZ3(limitMs);
    return await descend(session, problem, text, below, () => Math.max(0, until - clock()));
  } catch (fault) {
    throw proofFailed(fault instanceof Error ? fault.message : String(fault));
  } finally {
    await session?.close();
  }
}

async function descend(
  session: Session,
  problem: Problem,
  text: string,
  below: number,
  leftMs: () => number,
): Promise<Proof> {
  let best: Proof = { makespanMs: undefined, plan: undefined, optimal: false };
  const ask = (what: string) => session.ask(what, leftMs());
  await ask(`(set-option :pp.decimal true)\n${text}`);
  for (let bound = below; ; ) {
    if (bound < Infinity) await ask(`(assert (< makespan ${bound.toFixed(9)}))`);
    const said = (await ask("(check-sat)"))?.trim();
    if (said === "unsat") return { ...best, optimal: true };
    if (said !== "sat") return best;
    best = await readProof(session, problem);
    bound = (best.makespanMs ?? 0) * (1 - OPTIMALITY_GAP);
  }
}

/** Without a limit: Z3 has the model already. */
async function readProof(session: Session, problem: Problem): Promise<Proof> {
  const values = async (terms: readonly string[]) =>
    (await session.ask(`(get-value (${terms.join(" ")}))`, Infinity)) ?? "";
  const value = async (terms: readonly string[]) => {
    const said = await values(terms);
    return [...said.matchAll(/ (true|false)\)/g)].map(([, one]) => one === "true");
  };
  const ends = problem.networks.map(({ groups }, n) => `e${n}_${groups.length - 1}`);
  const times = await values(ends);
  const assignment: number[][] = [];
  for (const names of assignmentNames(problem))
    assignment.push((await value(names)).map((second) => (second ? 1 : 0)));
  const priority: number[][] = [];
  for (const rows of priorityNames(problem)) {
    const ahead: number[] = [];
    for (const row of rows) {
      const terms = row.filter((one) => one !== undefined);
      ahead.push(terms.length === 0 ? 0 : (await value(terms)).filter(Boolean).length);
    }
    priority.push(ahead.map((_, n) => n).sort((n, m) => (ahead[m] ?? 0) - (ahead[n] ?? 0)));
  }
  return { makespanMs: largest(times), plan: { assignment, priority }, optimal: false };
}

/** Of values as Z3 writes them: `(e0_5 3.5)`, or with a ? behind the digits where there are more. */
const largest = (said: string): number =>
  Math.max(0, ...[...said.matchAll(/\(e\d+_\d+ ([\d.]+)\??\)/g)].map(([, value]) => Number(value)));
