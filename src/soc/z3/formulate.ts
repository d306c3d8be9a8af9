// The problem as text for Z3, written from the definition of a plan's timeline and from nothing of our solver:
// real start and end times, a Boolean per group (on the second accelerator or not) and per pair of networks and
// accelerator (who goes first), and the rule that joins them. Linear real arithmetic.
//
// Progress: with two accelerators at most two groups run at once, so a group g of t ms that overlaps each h for
// o(g,h) ms takes  end - start = t + sum over h of o(g,h) * (1 - 1 / slowdown(g beside h)),
// which is the same as: the sum over intervals of interval / slowdown is t.
import { proofRefused } from "../faults.ts";
import type { Problem } from "../types.ts";

interface Item {
  readonly network: number;
  readonly group: number;
  readonly id: string;
}

/** Asserts everything but a bound on `makespan`, the largest end. Throws a UserError for what Z3 isn't asked. */
export function formulate(problem: Problem): string {
  const refused =
    problem.accelerators.length !== 2
      ? "it has other than two accelerators"
      : problem.objective !== "latency"
        ? "its objective is not latency"
        : problem.overlapMs > 0
          ? "it allows overlap on an accelerator"
          : undefined;
  if (refused) throw proofRefused(refused);
  const items = problem.networks.flatMap(({ groups }, network) =>
    groups.map((_, group): Item => ({ network, group, id: `${network}_${group}` })),
  );
  const pairs = items.flatMap((g, i) =>
    items.slice(i + 1).flatMap((h) => (g.network === h.network ? [] : [{ g, h }])),
  );
  return [
    "(declare-const makespan Real)",
    ...items.flatMap(({ id }) => [
      `(declare-const x${id} Bool)`,
      ...["r", "s", "e"].map((time) => `(declare-const ${time}${id} Real)`),
    ]),
    ...pairs.map(({ g, h }) => `(declare-const o${g.id}_${h.id} Real)`),
    ...order(problem),
    ...items.flatMap((item) => own(problem, item)),
    ...items.map((g) => duration(problem, g, items)),
    ...pairs.flatMap(({ g, h }) => [overlap(g, h), exclusive(g, h)]),
    ...items.flatMap((g) =>
      items
        .filter((h) => h.network !== g.network)
        .flatMap((h) => [rank(g, h), prompt(g, h, items)]),
    ),
    ...items.map((g) => starts(g, items)),
    ...problem.networks.flatMap((_, n) => transitions(problem, n)),
    ...energy(problem, items),
  ].join("\n");
}

/** How a plan is read out of a model: the Booleans in this order. */
export const assignmentNames = ({ networks }: Problem): string[][] =>
  networks.map(({ groups }, n) => groups.map((_, i) => `x${n}_${i}`));

export const priorityNames = ({ networks }: Problem) =>
  [0, 1].map((a) =>
    networks.map((_, n) => networks.map((_, m) => (n === m ? undefined : before(a, n, m)))),
  );

const assert = (what: string) => `(assert ${what})`;
const and = (...parts: readonly string[]) => `(and true ${parts.join(" ")})`;
const or = (...parts: readonly string[]) => `(or false ${parts.join(" ")})`;
const ite = (when: string, then: string, otherwise: string) => `(ite ${when} ${then} ${otherwise})`;
const sum = (parts: readonly string[]) => `(+ 0.0 ${parts.join(" ")})`;

/** Nine places behind the point: a picosecond. */
const real = (value: number) => (value < 0 ? `(- ${(-value).toFixed(9)})` : value.toFixed(9));

/** Network n goes before m on accelerator a. One Boolean for both directions. */
const before = (a: number, n: number, m: number) =>
  n < m ? `p${a}_${n}_${m}` : `(not p${a}_${m}_${n})`;

const same = (g: Item, h: Item) => `(= x${g.id} x${h.id})`;

/** Priorities are an order: no circles among three. */
function order({ networks }: Problem): string[] {
  const all = networks.map((_, n) => n);
  return [0, 1].flatMap((a) => [
    ...all.flatMap((n) => all.slice(n + 1).map((m) => `(declare-const p${a}_${n}_${m} Bool)`)),
    ...all.flatMap((n) =>
      all.flatMap((m) =>
        all.flatMap((l) =>
          n === m || m === l || n === l
            ? []
            : [assert(`(=> ${and(before(a, n, m), before(a, m, l))} ${before(a, n, l)})`)],
        ),
      ),
    ),
  ]);
}

/** When its inputs are there, that it starts no earlier, and what can't run where. */
function own(problem: Problem, { network, group, id }: Item): string[] {
  const { groups, after } = problem.networks[network] ?? { groups: [], after: [] };
  const me = groups[group];
  const x = `x${id}`;
  const crossing = (me?.inputs ?? []).map((input) => `(not (= x${network}_${input} ${x}))`);
  const outs = (me?.inputs ?? []).map((input, i) => {
    const [onFirst = 0, onSecond = 0] = groups[input]?.outMs ?? [];
    return ite(
      crossing[i] ?? "false",
      ite(`x${network}_${input}`, real(onSecond), real(onFirst)),
      "0.0",
    );
  });
  const into = ite(or(...crossing), ite(x, real(me?.inMs[1] ?? 0), real(me?.inMs[0] ?? 0)), "0.0");
  const previous =
    group > 0
      ? [`e${network}_${group - 1}`]
      : after.map((m) => `e${m}_${(problem.networks[m]?.groups.length ?? 0) - 1}`);
  const latest = previous.reduce((most, one) => ite(`(> ${one} ${most})`, one, most), "0.0");
  const last = group === groups.length - 1;
  return [
    assert(`(= r${id} (+ ${latest} ${into} ${sum(outs)}))`),
    assert(`(>= s${id} r${id})`),
    ...(last ? [assert(`(<= e${id} makespan)`)] : []),
    ...(Number.isFinite(me?.timeMs[0]) ? [] : [assert(x)]),
    ...(Number.isFinite(me?.timeMs[1]) ? [] : [assert(`(not ${x})`)]),
  ];
}

function duration(problem: Problem, g: Item, items: readonly Item[]): string {
  const me = problem.networks[g.network]?.groups[g.group];
  const alone = ite(`x${g.id}`, real(finite(me?.timeMs[1])), real(finite(me?.timeMs[0])));
  const extra = items
    .filter((h) => h.network !== g.network)
    .map((h) => {
      const other = problem.networks[h.network]?.groups[h.group];
      const lost = (mine: number) => {
        const [own = 0, others = 0] = [me?.demand[mine], other?.demand[1 - mine]];
        const slowdown = problem.accelerators[mine]?.slowdown(own, others) ?? 1;
        return real(1 - 1 / slowdown);
      };
      const o = g.network < h.network ? `o${g.id}_${h.id}` : `o${h.id}_${g.id}`;
      // Where both are on one accelerator the overlap is 0.
      return ite(`x${g.id}`, `(* ${lost(1)} ${o})`, `(* ${lost(0)} ${o})`);
    });
  return assert(`(= e${g.id} (+ s${g.id} ${alone} ${sum(extra)}))`);
}

const finite = (time: number | undefined) => (Number.isFinite(time) ? (time ?? 0) : 0);

function overlap(g: Item, h: Item): string {
  const end = ite(`(< e${g.id} e${h.id})`, `e${g.id}`, `e${h.id}`);
  const start = ite(`(> s${g.id} s${h.id})`, `s${g.id}`, `s${h.id}`);
  const apart = or(`(<= e${g.id} s${h.id})`, `(<= e${h.id} s${g.id})`);
  return assert(`(= o${g.id}_${h.id} ${ite(apart, "0.0", `(- ${end} ${start})`)})`);
}

const exclusive = (g: Item, h: Item) =>
  assert(`(=> ${same(g, h)} ${or(`(<= e${g.id} s${h.id})`, `(<= e${h.id} s${g.id})`)})`);

/** If h started while g was ready, it goes before. */
function rank(g: Item, h: Item): string {
  const first = (a: number) => before(a, h.network, g.network);
  const overtook = and(same(g, h), `(< s${h.id} s${g.id})`, `(>= s${h.id} r${g.id})`);
  return assert(`(=> ${overtook} ${ite(`x${g.id}`, first(1), first(0))})`);
}

/** While g waits, the accelerator is not idle: what starts then starts at another's end. */
function prompt(g: Item, h: Item, items: readonly Item[]): string {
  const late = and(same(g, h), `(> s${h.id} r${g.id})`, `(<= s${h.id} s${g.id})`);
  const ends = items
    .filter((other) => other.id !== h.id)
    .map((other) => and(same(other, h), `(= e${other.id} s${h.id})`));
  return assert(`(=> ${late} ${or(...ends)})`);
}

/** A group starts when it is ready, or when another leaves its accelerator. */
const starts = (g: Item, items: readonly Item[]): string =>
  assert(
    or(
      `(= s${g.id} r${g.id})`,
      ...items
        .filter((h) => h.network !== g.network)
        .map((h) => and(same(g, h), `(= e${h.id} s${g.id})`)),
    ),
  );

function transitions({ networks, maxTransitions }: Problem, n: number): string[] {
  const count = networks[n]?.groups.length ?? 0;
  if (maxTransitions >= count - 1) return [];
  const changes = Array.from({ length: count - 1 }, (_, i) =>
    ite(`(= x${n}_${i} x${n}_${i + 1})`, "0", "1"),
  );
  return [assert(`(<= (+ 0 ${changes.join(" ")}) ${maxTransitions})`)];
}

function energy({ networks, energyBudgetMj }: Problem, items: readonly Item[]): string[] {
  if (energyBudgetMj === Infinity) return [];
  const parts = items.map(({ network, group, id }) => {
    const [first = 0, second = 0] = networks[network]?.groups[group]?.energyMj ?? [];
    return ite(`x${id}`, real(second), real(first));
  });
  return [assert(`(<= ${sum(parts)} ${real(energyBudgetMj)})`)];
}
