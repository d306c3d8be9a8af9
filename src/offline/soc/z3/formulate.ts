// The problem as text for Z3, written from the definition of a plan's timeline and from nothing of our solver. Linear
// real arithmetic over real start and end times, a Boolean per group (on the second accelerator or not) and per pair of
// networks and accelerator (who goes first). In two parts, because all at once is too much (see `prove.ts`):
// `relaxed` says what every plan keeps, whatever runs where; `exact` says all, for one assignment.
//
// Progress: with two accelerators at most two groups run at once, so a group g of t ms that overlaps each h for
// o(g,h) ms takes  end - start = t + sum over h of o(g,h) * (1 - 1 / slowdown(g beside h)),
// which is the same as: the sum over intervals of interval / slowdown is t.
import { proofRefused } from "../errors.ts";
import type { Problem } from "../problem/types.ts";

interface Item {
  readonly network: number;
  readonly group: number;
  readonly id: string;
}

/** Throws a UserError for what Z3 isn't asked. */
function checkAsked(problem: Problem) {
  const refused =
    problem.accelerators.length !== 2
      ? "it has other than two accelerators"
      : problem.objective !== "latency"
        ? "its objective is not latency"
        : problem.overlapMs > 0
          ? "it allows overlap on an accelerator"
          : undefined;
  if (refused) throw proofRefused(refused);
}

/**
 * Asserts what follows for start, end and duration of every group and for the overlaps of every pair, but no order of
 * groups; a bound on `makespan`, the largest end, is for the caller to assert. What makes it strong: two accelerators
 * that are busy for longer than the makespan, both together, are busy at the same time, so contention makes groups
 * longer; and which groups can overlap follows the order of both networks (`crossed`). Times are rounded down, so that
 * Z3 computes with short fractions: what is impossible here is impossible. Throws a UserError for what Z3 isn't asked.
 */
export function relaxed(problem: Problem): string {
  checkAsked(problem);
  const items = itemsOf(problem);
  const pairs = pairsOf(items);
  return [
    "(declare-const makespan Real)",
    ...items.flatMap(({ id }) => [
      `(declare-const x${id} Bool)`,
      // Ready, start, end, duration, and duration on the second accelerator.
      ...["r", "s", "e", "d", "b"].map((what) => `(declare-const ${what}${id} Real)`),
    ]),
    ...pairs.flatMap(([g, h]) => [
      `(declare-const ${shared(g, h)} Real)`,
      assert(`(>= ${shared(g, h)} 0.0)`),
      assert(`(=> (= x${g.id} x${h.id}) (= ${shared(g, h)} 0.0))`),
    ]),
    ...pairs.flatMap(([g, h]) => crossed(g, h, pairs)),
    ...order(problem),
    ...items.flatMap((item) => own(problem, item)),
    ...items.flatMap((g) => least(problem, g, strangers(items, g))),
    ...[0, 1].map((a) => assert(`(<= ${sum(items.map((g) => on(a, g)))} makespan)`)),
    assert(
      `(>= ${sum(pairs.map(([g, h]) => shared(g, h)))} (- ${sum(items.map(({ id }) => `d${id}`))} makespan))`,
    ),
    ...problem.networks.flatMap((_, n) => transitions(problem, n)),
    ...energy(problem, items),
  ].join("\n");
}

/** Asserts, on top of `relaxed`, that the groups run as assigned and as the rule of dispatch says. */
export function exact(problem: Problem, assignment: readonly (readonly number[])[]): string {
  const items = itemsOf(problem);
  const where = (g: Item) => assignment[g.network]?.[g.group] ?? 0;
  const apart = (g: Item) => strangers(items, g).filter((h) => where(h) !== where(g));
  const competitors = (g: Item) => strangers(items, g).filter((h) => where(h) === where(g));
  const beside = (g: Item) => items.filter((h) => h.id !== g.id && where(h) === where(g));
  return [
    ...items.map((g) => assert(where(g) === 1 ? `x${g.id}` : `(not x${g.id})`)),
    ...items.map((g) => ready(problem, g, assignment)),
    ...items.map((g) => duration(problem, g, where(g), apart(g))),
    ...pairsOf(items).map(([g, h]) =>
      where(g) === where(h) ? assert(separate(g, h)) : overlap(g, h),
    ),
    ...items.flatMap((g) =>
      competitors(g).flatMap((h) => [rank(where(g), g, h), prompt(g, h, beside(h))]),
    ),
    ...items.map((g) => starts(g, competitors(g))),
  ].join("\n");
}

/** How an assignment is read out of a model: the Booleans in this order. */
export const assignmentNames = ({ networks }: Problem): string[][] =>
  networks.map(({ groups }, n) => groups.map((_, i) => `x${n}_${i}`));

/** Asserts that it is another one. */
export function otherThan(problem: Problem, assignment: readonly (readonly number[])[]): string {
  const literals = assignmentNames(problem).flatMap((names, n) =>
    names.map((name, i) => (assignment[n]?.[i] === 1 ? name : `(not ${name})`)),
  );
  return assert(`(not ${and(...literals)})`);
}

export const priorityNames = ({ networks }: Problem) =>
  [0, 1].map((a) =>
    networks.map((_, n) => networks.map((_, m) => (n === m ? undefined : before(a, n, m)))),
  );

const itemsOf = ({ networks }: Problem): Item[] =>
  networks.flatMap(({ groups }, network) =>
    groups.map((_, group): Item => ({ network, group, id: `${network}_${group}` })),
  );

/** Of different networks, each once. */
const pairsOf = (items: readonly Item[]): [Item, Item][] =>
  items.flatMap((g) => items.filter((h) => h.network > g.network).map((h): [Item, Item] => [g, h]));

const strangers = (items: readonly Item[], g: Item) => items.filter((h) => h.network !== g.network);

/** If g overlaps h, nothing after g overlaps anything before h: that would be both later and earlier. */
const crossed = (g: Item, h: Item, pairs: readonly (readonly [Item, Item])[]): string[] =>
  pairs
    .filter(
      ([later, earlier]) =>
        later.network === g.network &&
        earlier.network === h.network &&
        later.group > g.group &&
        earlier.group < h.group,
    )
    .map(([later, earlier]) =>
      assert(or(`(= ${shared(g, h)} 0.0)`, `(= ${shared(later, earlier)} 0.0)`)),
    );

/** How long the two run at once. */
const shared = (g: Item, h: Item) =>
  g.network < h.network ? `o${g.id}_${h.id}` : `o${h.id}_${g.id}`;

const assert = (what: string) => `(assert ${what})`;
const and = (...parts: readonly string[]) => `(and true ${parts.join(" ")})`;
const or = (...parts: readonly string[]) => `(or false ${parts.join(" ")})`;
const ite = (when: string, then: string, otherwise: string) => `(ite ${when} ${then} ${otherwise})`;
const sum = (parts: readonly string[]) => `(+ 0.0 ${parts.join(" ")})`;

/** Nine places behind the point: a picosecond. */
const real = (value: number) => value.toFixed(9);

/** Three places, not above `value`, which is 0 or more. */
const floor = (value: number) => (Math.floor(value * 1000) / 1000).toFixed(3);

/** Network n goes before m on accelerator a. One Boolean for both directions. */
const before = (a: number, n: number, m: number) =>
  n < m ? `p${a}_${n}_${m}` : `(not p${a}_${m}_${n})`;

const on = (a: number, { id }: Item) => (a === 1 ? `b${id}` : `(- d${id} b${id})`);

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

/** What comes before it: the group before, or the ends of the networks that its own comes after. */
function previous({ networks }: Problem, { network, group }: Item): string[] {
  if (group > 0) return [`e${network}_${group - 1}`];
  return (networks[network]?.after ?? []).map(
    (m) => `e${m}_${(networks[m]?.groups.length ?? 0) - 1}`,
  );
}

/** That it starts no earlier than its inputs are there, and what can't run where. */
function own(problem: Problem, item: Item): string[] {
  const { network, group, id } = item;
  const { groups } = problem.networks[network] ?? { groups: [] };
  const me = groups[group];
  const x = `x${id}`;
  const crossing = (me?.inputs ?? []).map((input) => `(not (= x${network}_${input} ${x}))`);
  const outs = (me?.inputs ?? []).map((input, i) => {
    const [onFirst = 0, onSecond = 0] = groups[input]?.outMs ?? [];
    return ite(
      crossing[i] ?? "false",
      ite(`x${network}_${input}`, floor(onSecond), floor(onFirst)),
      "0.0",
    );
  });
  const [intoFirst = 0, intoSecond = 0] = me?.inMs ?? [];
  const into = ite(or(...crossing), ite(x, floor(intoSecond), floor(intoFirst)), "0.0");
  return [
    ...["0.0", ...previous(problem, item)].map((one) =>
      assert(`(>= r${id} (+ ${one} ${into} ${sum(outs)}))`),
    ),
    assert(`(>= s${id} r${id})`),
    assert(`(= e${id} (+ s${id} d${id}))`),
    ...(group === groups.length - 1 ? [assert(`(<= e${id} makespan)`)] : []),
    ...(Number.isFinite(me?.timeMs[0]) ? [] : [assert(x)]),
    ...(Number.isFinite(me?.timeMs[1]) ? [] : [assert(`(not ${x})`)]),
  ];
}

/** Its duration: what it takes alone and what it loses beside others, and no more overlap than that. */
function least(problem: Problem, g: Item, others: readonly Item[]): string[] {
  const here = [`(not x${g.id})`, `x${g.id}`];
  return [
    ...here.map((when, a) => {
      const lost = others.map((h) => `(* ${floor(loss(problem, g, h, a))} ${shared(g, h)})`);
      return assert(`(=> ${when} (>= d${g.id} (+ ${floor(alone(problem, g, a))} ${sum(lost)})))`);
    }),
    assert(`(= b${g.id} ${ite(`x${g.id}`, `d${g.id}`, "0.0")})`),
    assert(`(<= ${sum(others.map((h) => shared(g, h)))} d${g.id})`),
  ];
}

/** 0 where it can't run. */
function alone({ networks }: Problem, { network, group }: Item, a: number): number {
  const time = networks[network]?.groups[group]?.timeMs[a] ?? 0;
  return Number.isFinite(time) ? time : 0;
}

/** Of the time that g, on accelerator a, runs beside h on the other: the part in which it makes no progress. */
function loss({ networks, accelerators }: Problem, g: Item, h: Item, a: number): number {
  const demand = (one: Item, where: number) =>
    networks[one.network]?.groups[one.group]?.demand[where] ?? 0;
  return 1 - 1 / (accelerators[a]?.slowdown(demand(g, a), demand(h, 1 - a)) ?? 1);
}

function ready(problem: Problem, item: Item, assignment: readonly (readonly number[])[]): string {
  const { network, group, id } = item;
  const groups = problem.networks[network]?.groups ?? [];
  const places = assignment[network] ?? [];
  const to = places[group] ?? 0;
  const foreign = (groups[group]?.inputs ?? []).filter((input) => places[input] !== to);
  const moving = foreign.reduce(
    (total, input) => total + (groups[input]?.outMs[places[input] ?? 0] ?? 0),
    foreign.length > 0 ? (groups[group]?.inMs[to] ?? 0) : 0,
  );
  const latest = previous(problem, item).reduce(
    (most, one) => ite(`(> ${one} ${most})`, one, most),
    "0.0",
  );
  return assert(`(= r${id} (+ ${latest} ${real(moving)}))`);
}

function duration(problem: Problem, g: Item, a: number, beside: readonly Item[]) {
  const lost = beside.map((h) => `(* ${real(loss(problem, g, h, a))} ${shared(g, h)})`);
  return assert(`(= d${g.id} (+ ${real(alone(problem, g, a))} ${sum(lost)}))`);
}

const separate = (g: Item, h: Item) => or(`(<= e${g.id} s${h.id})`, `(<= e${h.id} s${g.id})`);

function overlap(g: Item, h: Item): string {
  const end = ite(`(< e${g.id} e${h.id})`, `e${g.id}`, `e${h.id}`);
  const start = ite(`(> s${g.id} s${h.id})`, `s${g.id}`, `s${h.id}`);
  return assert(`(= ${shared(g, h)} ${ite(separate(g, h), "0.0", `(- ${end} ${start})`)})`);
}

/** If h started while g was ready, it goes before. Both on accelerator a. */
function rank(a: number, g: Item, h: Item): string {
  const overtook = and(`(< s${h.id} s${g.id})`, `(>= s${h.id} r${g.id})`);
  return assert(`(=> ${overtook} ${before(a, h.network, g.network)})`);
}

/** While g waits, the accelerator is not idle: what starts there then, h, starts at another's end. */
function prompt(g: Item, h: Item, others: readonly Item[]): string {
  const late = and(`(> s${h.id} r${g.id})`, `(<= s${h.id} s${g.id})`);
  return assert(`(=> ${late} ${or(...others.map((one) => `(= e${one.id} s${h.id})`))})`);
}

/** A group starts when it is ready, or when another leaves its accelerator. */
const starts = (g: Item, competitors: readonly Item[]): string =>
  assert(or(`(= s${g.id} r${g.id})`, ...competitors.map((h) => `(= e${h.id} s${g.id})`)));

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
