// The file that describes what is to be planned; docs/guide/layer-mapping.md explains it field by field. Everything that is wrong
// with one is said with the file, the network and the group.

import { badProblem } from "../faults.ts";
import { type Described, readCosts } from "./costs.ts";
import { fitSlowdown } from "./fit.ts";
import { isObject, Place, shown } from "./place.ts";
import { interpolated, noSlowdown, type Slowdown, shareOfLimit } from "./slowdown.ts";
import type { Group, Network, Objective, Problem } from "./types.ts";

/** More are refused: some sets are kept as bits, and no plan of so many was ever proven. */
const MOST_NETWORKS = 12;
const DEFAULT_TRANSITIONS = 4;

export function parseProblem(text: string, file: string): Problem {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (fault) {
    throw badProblem(file, "", `it is no JSON: ${fault instanceof Error ? fault.message : fault}.`);
  }
  const whole = new Place(file, "", value, [
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
  if (whole.value.version !== 1)
    throw whole.bad(`its version is ${shown(whole.value.version)}, not 1.`);
  const memory = new Place(file, "memory", whole.value.memory, ["limit", "unit"]);
  const limit = memory.quantity(memory.value.limit, "its limit");
  if (limit === 0) throw memory.bad("its limit is 0.");
  const accelerators = whole
    .list("accelerators")
    .map((one, i) => readAccelerator(file, one, i, limit));
  if (accelerators.length === 0) throw whole.bad("it has no accelerator.");
  checkDistinct(whole, "accelerator", accelerators);
  const networks = readNetworks(whole, accelerators, limit);
  return {
    accelerators: accelerators.map(({ name, slowdown }) => ({ name, slowdown })),
    networks,
    objective: readObjective(whole),
    maxTransitions: readTransitions(whole),
    overlapMs: whole.quantity(whole.value.overlapMs ?? 0, "its overlapMs"),
    energyBudgetMj:
      whole.value.energyBudgetMj === undefined
        ? Infinity
        : whole.quantity(whole.value.energyBudgetMj, "its energyBudgetMj"),
  };
}

function readAccelerator(file: string, value: unknown, index: number, limit: number): Described {
  const name = isObject(value) && typeof value.name === "string" ? value.name : `${index + 1}`;
  const place = new Place(file, `accelerator "${name}"`, value, ["name", "slowdown", "demandFrom"]);
  return {
    name: place.text("name"),
    slowdown: readSlowdown(place, limit),
    demandFrom: place.value.demandFrom === undefined ? undefined : place.text("demandFrom"),
  };
}

/** "none"; points [own, others, slowdown] to fit; a table; or, if not given, shares of the memory's limit. */
function readSlowdown(place: Place, limit: number): Slowdown {
  const given = place.value.slowdown;
  if (given === undefined) return shareOfLimit(limit);
  if (given === "none") return noSlowdown;
  const inner = new Place(place.file, `${place.name}, slowdown`, given, [
    "points",
    "own",
    "others",
    "factor",
  ]);
  const numbers = (list: unknown, what: string): number[] => {
    if (!Array.isArray(list) || list.length === 0)
      throw inner.bad(`${what} is no list of numbers.`);
    return list.map((one) => inner.quantity(one, what));
  };
  if (inner.value.points !== undefined) {
    const points = inner.list("points").map((one) => {
      const [own = Number.NaN, others = Number.NaN, slowdown = Number.NaN] = numbers(
        one,
        "a point",
      );
      return { own, others, slowdown };
    });
    return interpolated(fitSlowdown(points, `${place.file}, ${place.name}`).table);
  }
  const own = numbers(inner.value.own, "own");
  const others = numbers(inner.value.others, "others");
  const factor = inner.list("factor").map((row) => numbers(row, "a row of factor"));
  const rises = (list: readonly number[], by = 0) =>
    list.every((x, i) => i === 0 || x - (list[i - 1] ?? 0) >= by);
  if (!rises(own, Number.MIN_VALUE) || !rises(others, Number.MIN_VALUE) || others[0] !== 0)
    throw inner.bad("own and others must rise, and others begin with 0.");
  if (factor.length !== own.length || factor.some((row) => row.length !== others.length))
    throw inner.bad("factor must have a row per own demand and in it a number per others' demand.");
  const columns = others.map((_, e) => factor.map((row) => row[e] ?? 1));
  if (factor.some((row) => row[0] !== 1) || ![...factor, ...columns].every((one) => rises(one)))
    throw inner.bad("factor must be 1 without others and never fall when a demand grows.");
  return interpolated({ own, others, factor });
}

function readNetworks(whole: Place, accelerators: readonly Described[], limit: number): Network[] {
  const given = whole.list("networks").map((value, i) => {
    const name = isObject(value) && typeof value.name === "string" ? value.name : `${i + 1}`;
    return new Place(whole.file, `network "${name}"`, value, ["name", "groups", "like", "after"]);
  });
  if (given.length === 0) throw whole.bad("it has no network.");
  if (given.length > MOST_NETWORKS)
    throw whole.bad(`it has ${given.length} networks; ${MOST_NETWORKS} is the most.`);
  const names = given.map((place) => place.text("name"));
  checkDistinct(
    whole,
    "network",
    names.map((name) => ({ name })),
  );
  const networks = given.map((place, n): Network => {
    const like = place.value.like;
    const source = like === undefined ? place : given.find((_, m) => names[m] === like);
    if (!source) throw place.bad(`it is like ${shown(like)}, which is no network here.`);
    if (like !== undefined && place.value.groups !== undefined)
      throw place.bad("it has both groups and like.");
    if (source.value.like !== undefined && source !== place)
      throw place.bad(`it is like "${source.text("name")}", which is like another itself.`);
    const after = place.texts("after").map((one) => {
      const m = names.indexOf(one);
      if (m < 0) throw place.bad(`it comes after "${one}", which is no network here.`);
      return m;
    });
    return { name: names[n] ?? "", after, groups: readGroups(source, accelerators, limit) };
  });
  checkNoCycle(given, networks);
  return networks;
}

function readGroups(network: Place, accelerators: readonly Described[], limit: number): Group[] {
  const given = network.list("groups");
  if (given.length === 0) throw network.bad("it has no group.");
  const names: string[] = [];
  return given.map((value, i) => {
    const label = isObject(value) && typeof value.name === "string" ? value.name : `${i + 1}`;
    const place = new Place(network.file, `${network.name}, group "${label}"`, value, [
      "name",
      "timeMs",
      "demand",
      "emc",
      "outMs",
      "inMs",
      "energyMj",
      "inputs",
      "why",
    ]);
    const name = place.text("name");
    if (names.includes(name)) throw place.bad("another group of the network has this name.");
    names.push(name);
    return { name, inputs: readInputs(place, names), ...readCosts(place, accelerators, limit) };
  });
}

/** By default the group before. */
function readInputs(place: Place, names: readonly string[]): number[] {
  const i = names.length - 1;
  if (place.value.inputs === undefined) return i === 0 ? [] : [i - 1];
  return place.texts("inputs").map((one) => {
    const input = names.indexOf(one);
    if (input < 0 || input === i)
      throw place.bad(`it reads "${one}", which is no group before it in the network.`);
    return input;
  });
}

function checkNoCycle(places: readonly Place[], networks: readonly Network[]) {
  const done = new Set<number>();
  for (let before = -1; before < done.size; ) {
    before = done.size;
    for (const [n, { after }] of networks.entries())
      if (after.every((m) => done.has(m))) done.add(n);
    if (done.size === before) break;
  }
  const stuck = networks.findIndex((_, n) => !done.has(n));
  if (stuck >= 0) {
    const names = networks.filter((_, n) => !done.has(n)).map(({ name }) => name);
    throw (places[stuck] ?? new Place("", "", {}, [])).bad(
      `it waits for itself: ${names.join(", ")} come after each other in a circle.`,
    );
  }
}

function checkDistinct(whole: Place, what: string, all: readonly { readonly name: string }[]) {
  const twice = all.find(({ name }, i) => all.findIndex((one) => one.name === name) !== i);
  if (twice) throw whole.bad(`two ${what}s are called "${twice.name}".`);
}

function readObjective(whole: Place): Objective {
  const given = whole.value.objective ?? "latency";
  if (given === "latency" || given === "throughput") return given;
  throw whole.bad(`its objective is ${shown(given)}, not latency or throughput.`);
}

function readTransitions(whole: Place): number {
  const given = whole.value.transitions ?? DEFAULT_TRANSITIONS;
  if (given === "unlimited") return Infinity;
  if (typeof given === "number" && Number.isInteger(given) && given >= 0) return given;
  throw whole.bad(`its transitions are ${shown(given)}, not a whole number or "unlimited".`);
}
