// Reads the file that describes what is to be planned. docs/guide/layer-mapping.md explains each field.
import { type Field, readJson } from "#core";
import { type Described, readCosts } from "./costs.ts";
import { badProblem } from "./errors.ts";
import { fitSlowdown } from "./fit.ts";
import { interpolated, noSlowdown, type Slowdown, shareOfLimit } from "./slowdown.ts";
import type { Group, Network, Problem } from "./types.ts";

/** More networks are refused: some sets are stored as bits, and no plan of this many was ever proven optimal. */
const MAX_NETWORKS = 12;
const DEFAULT_TRANSITIONS = 4;

/** Throws a UserError that names the file, the line and the field. */
export function parseProblem(text: string, file: string): Problem {
  const whole = readJson(text, file, badProblem).only([
    "version",
    "about",
    "memory",
    "accelerators",
    "networks",
    "objective",
    "transitions",
    "overlapMs",
    "energyBudgetMj",
  ]);
  whole.at("version").one([1]);
  const limit = whole.at("memory").only(["limit", "unit"]).at("limit").number({ above: 0 });
  const accelerators = readAccelerators(whole.at("accelerators"), limit);
  const networks = readNetworks(whole.at("networks"), accelerators, limit);
  const transitions = whole.at("transitions").or(DEFAULT_TRANSITIONS);
  return {
    accelerators: accelerators.map(({ name, slowdown }) => ({ name, slowdown })),
    networks,
    objective: whole.at("objective").or("latency").one(["latency", "throughput"]),
    maxTransitions: transitions.value === "unlimited" ? Infinity : readTransitions(transitions),
    overlapMs: whole.at("overlapMs").or(0).number(),
    energyBudgetMj: whole.at("energyBudgetMj").optional((one) => one.number()) ?? Infinity,
  };
}

function readTransitions(transitions: Field): number {
  if (typeof transitions.value === "number") return transitions.whole(0);
  throw transitions.not('a whole number or "unlimited"');
}

function readAccelerators(list: Field, limit: number): Described[] {
  const given = list.filledList("accelerator");
  const accelerators = given.map((one) => readAccelerator(one, limit));
  checkDistinct(list, "accelerators", accelerators);
  for (const demandFrom of given.map((one) => one.at("demandFrom")))
    if (!demandFrom.missing && !accelerators.some(({ name }) => name === demandFrom.value))
      throw demandFrom.bad(`is ${demandFrom.brief}, which is no accelerator here.`);
  return accelerators;
}

function readAccelerator(accelerator: Field, limit: number): Described {
  accelerator.only(["name", "slowdown", "demandFrom"]);
  return {
    name: accelerator.at("name").text(),
    slowdown: readSlowdown(accelerator.at("slowdown"), limit),
    demandFrom: accelerator.at("demandFrom").optional((one) => one.text()),
  };
}

/** "none"; points [own, others, slowdown] to fit; a table; or by default, shares of the memory's limit. */
function readSlowdown(slowdown: Field, limit: number): Slowdown {
  if (slowdown.missing) return shareOfLimit(limit);
  if (slowdown.value === "none") return noSlowdown;
  slowdown.only(["points", "own", "others", "factor"]);
  const numbers = (list: Field) => list.filledList("number").map((one) => one.number());
  if (!slowdown.at("points").missing) {
    const points = slowdown
      .at("points")
      .list()
      .map((point) => {
        const [own = Number.NaN, others = Number.NaN, factor = Number.NaN] = numbers(point);
        return { own, others, slowdown: factor };
      });
    return interpolated(fitSlowdown(points, slowdown.at("points").place).table);
  }
  const own = numbers(slowdown.at("own"));
  const others = numbers(slowdown.at("others"));
  const factor = slowdown.at("factor").list().map(numbers);
  const rises = (list: readonly number[], by = 0) =>
    list.every((x, i) => i === 0 || x - (list[i - 1] ?? 0) >= by);
  if (!rises(own, Number.MIN_VALUE) || !rises(others, Number.MIN_VALUE) || others[0] !== 0)
    throw slowdown.bad("own and others must rise, and others begin with 0.");
  if (factor.length !== own.length || factor.some((row) => row.length !== others.length))
    throw slowdown.bad(
      "factor must have a row per own demand and in it a number per others' demand.",
    );
  const columns = others.map((_, e) => factor.map((row) => row[e] ?? 1));
  if (factor.some((row) => row[0] !== 1) || ![...factor, ...columns].every((one) => rises(one)))
    throw slowdown.bad("factor must be 1 without others and never fall when a demand grows.");
  return interpolated({ own, others, factor });
}

function readNetworks(
  networks: Field,
  accelerators: readonly Described[],
  limit: number,
): Network[] {
  const given = networks
    .filledList("network")
    .map((one) => one.only(["name", "groups", "like", "after"]));
  if (given.length > MAX_NETWORKS)
    throw networks.bad(`lists ${given.length} networks; ${MAX_NETWORKS} is the most.`);
  const names = given.map((one) => one.at("name").text());
  checkDistinct(
    networks,
    "networks",
    names.map((name) => ({ name })),
  );
  const indexOf = (network: Field): number => {
    const found = names.indexOf(network.text());
    if (found < 0) throw network.bad(`is ${network.brief}, which is no network here.`);
    return found;
  };
  const read = given.map((one, n): Network => {
    const like = one.at("like");
    const source = like.missing ? one : given[indexOf(like)];
    if (!source) throw like.not("a network");
    if (!like.missing && !one.at("groups").missing) throw one.bad("has both groups and like.");
    if (!like.missing && !source.at("like").missing)
      throw like.bad(`is ${like.brief}, which is like another itself.`);
    return {
      name: names[n] ?? "",
      after: one.at("after").or([]).list().map(indexOf),
      groups: readGroups(source.at("groups"), accelerators, limit),
    };
  });
  checkNoCycle(given, read);
  return read;
}

function readGroups(groups: Field, accelerators: readonly Described[], limit: number): Group[] {
  const names: string[] = [];
  return groups.filledList("group").map((group) => {
    group.only(["name", "timeMs", "demand", "emc", "outMs", "inMs", "energyMj", "inputs", "why"]);
    const name = group.at("name").text();
    if (names.includes(name))
      throw group.at("name").bad(`is "${name}", like that of another group of the network.`);
    names.push(name);
    const inputs = readInputs(group.at("inputs"), names);
    return { name, inputs, ...readCosts(group, accelerators, limit) };
  });
}

/** Default: the group before. */
function readInputs(inputs: Field, names: readonly string[]): number[] {
  const i = names.length - 1;
  if (inputs.missing) return i === 0 ? [] : [i - 1];
  return inputs.list().map((one) => {
    const input = names.indexOf(one.text());
    if (input < 0 || input === i)
      throw one.bad(`is ${one.brief}, which is no group before it in the network.`);
    return input;
  });
}

function checkNoCycle(given: readonly Field[], networks: readonly Network[]) {
  const done = new Set<number>();
  for (let before = -1; before < done.size; ) {
    before = done.size;
    for (const [n, { after }] of networks.entries())
      if (after.every((m) => done.has(m))) done.add(n);
    if (done.size === before) break;
  }
  const stuck = given.find((_, n) => !done.has(n));
  const names = networks.filter((_, n) => !done.has(n)).map(({ name }) => name);
  if (stuck)
    throw stuck
      .at("after")
      .bad(`makes it wait for itself: ${names.join(", ")} come after each other in a circle.`);
}

function checkDistinct(list: Field, of: string, all: readonly { readonly name: string }[]) {
  const twice = all.find(({ name }, i) => all.findIndex((one) => one.name === name) !== i);
  if (twice) throw list.bad(`has two ${of} called "${twice.name}".`);
}
