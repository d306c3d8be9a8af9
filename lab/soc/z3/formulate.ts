// Writes the problem as text for Z3. It is written from the definition of a plan's timeline and shares nothing with our
// solver. It uses linear real arithmetic over start and end times, a Boolean for each group (whether it is on the
// second accelerator), and one for each pair of networks and accelerator (which goes first). It has two parts, because
// all at once is too much (see `prove.ts`): `relaxed` is true of every plan, whatever the assignment, and `exact`
// describes one assignment completely.
//
// Progress: with two accelerators at most two groups run at once. So a group g of t ms that overlaps each h for o(g,h)
// ms takes
//   end - start = t + sum over h of o(g,h) * (1 - 1 / slowdown(g beside h)),
// which is equivalent to: the sum over intervals of interval / slowdown is t.
import { proofRefused } from "../problem/errors.ts";
import type { Problem } from "../problem/types.ts";

interface Item {
  readonly network: number;
  readonly group: number;
  readonly id: string;
}

/** Throws a UserError for a problem that cannot be put to Z3. */
function checkAsked(problem: Problem) {
  const refused =
    problem.accelerators.length !== 2
      ? "it has other than two accelerators"
      : problem.objective !== "latency"
        ? "its objective is not latency"
        : undefined;
  if (refused) throw proofRefused(refused);
}

/**
 * Asserts what holds for start, end and duration of every group and for the overlaps of every pair, but no order of
 * groups. The caller asserts a bound on `makespan`, the largest end. Two facts make the relaxation strong. If two
 * accelerators together are busy for longer than the makespan, they are busy at the same time, so contention makes
 * groups longer. And the order of both networks limits which groups can overlap (`crossed`). Times are rounded down, so
 * that Z3 computes with short fractions; what is impossible with them is impossible. Throws a UserError for a problem
 * that cannot be put to Z3.
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

/** Asserts, in addition to `relaxed`, that the groups run as assigned and follow the rule of dispatch. */
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

/** The Booleans of an assignment, in the order in which they are read from a model. */
export const assignmentNames = ({ networks }: Problem): string[][] =>
  networks.map(({ groups }, n) => groups.map((_, i) => `x${n}_${i}`));

/** Asserts that the assignment is another one. */
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

/** Pairs of items of different networks, each once. */
const pairsOf = (items: readonly Item[]): [Item, Item][] =>
  items.flatMap((g) => items.filter((h) => h.network > g.network).map((h): [Item, Item] => [g, h]));

const strangers = (items: readonly Item[], g: Item) => items.filter((h) => h.network !== g.network);

/** If g overlaps h, nothing after g overlaps anything before h, because it would have to be both later and earlier. */
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

/** Nine places behind the point: a resolution of a picosecond. */
const real = (value: number) => value.toFixed(9);

/** Rounds down to three places. `value` is 0 or more. */
const floor = (value: number) => (Math.floor(value * 1000) / 1000).toFixed(3);

/** Network n goes before m on accelerator a. One Boolean for both directions. */
const before = (a: number, n: number, m: number) =>
  n < m ? `p${a}_${n}_${m}` : `(not p${a}_${m}_${n})`;

const on = (a: number, { id }: Item) => (a === 1 ? `b${id}` : `(- d${id} b${id})`);

/** Priorities are an order, so no three networks form a circle. */
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

/** Items that must end before it starts: the group before, or the networks that its own network comes after. */
function previous({ networks }: Problem, { network, group }: Item): string[] {
  if (group > 0) return [`e${network}_${group - 1}`];
  return (networks[network]?.after ?? []).map(
    (m) => `e${m}_${(networks[m]?.groups.length ?? 0) - 1}`,
  );
}

/** Asserts that it starts after its inputs are ready, and which accelerators cannot run it. */
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

/** Its duration: the time alone plus what it loses beside others, and the limits on overlap. */
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

/** 0 if the accelerator cannot run it. */
function alone({ networks }: Problem, { network, group }: Item, a: number): number {
  const time = networks[network]?.groups[group]?.timeMs[a] ?? 0;
  return Number.isFinite(time) ? time : 0;
}

/** While g, on accelerator a, runs beside h on the other: the part of the time in which g makes no progress. */
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

/** If h started while g was ready, h goes before g. Both are on accelerator a. */
function rank(a: number, g: Item, h: Item): string {
  const overtook = and(`(< s${h.id} s${g.id})`, `(>= s${h.id} r${g.id})`);
  return assert(`(=> ${overtook} ${before(a, h.network, g.network)})`);
}

/** While g waits, the accelerator is not idle: h, which starts there then, starts at the end of another group. */
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
  // Each term is rounded to a nanojoule.
  return [assert(`(<= ${sum(parts)} ${real(energyBudgetMj + 1e-9 * items.length)})`)];
}
