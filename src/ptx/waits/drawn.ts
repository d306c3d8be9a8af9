// Waits by drawn numbers: a ticket lock, and look-back in the order in which blocks draw. Each thread draws from a
// counter that only grows. A block that has not been started draws later, so its numbers are larger than m, which a
// waiting thread has drawn or was handed. The thread waits for
//
// - a word of a table, read before the entry of m + step. All writes to the table are to the writer's own entry or
//   behind it, so a later number's writes are behind what is read.
// - the turn of m: the loop is left when a word equals m + c. Writers that store their own number plus a constant give a
//   larger value than m + c. Those that add do so after their own turn: the word, which never falls, is beyond m + c then.
//
// It is assumed, as for turns, that numbers and their products do not overflow.
import {
  type Affine,
  addressOf,
  affine,
  constantValue,
  type Definitions,
  isOfGrid,
  isSame,
  plus,
} from "../analysis/addresses.ts";
import { type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { relation, waysOf } from "../analysis/conditions.ts";
import { type Flow, reachableWithout } from "../analysis/control-flow.ts";
import { operandRead, operandWritten } from "../analysis/memory-accesses.ts";
import { writtenNames } from "../syntax/operation-facts.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Iterations } from "./induction.ts";
import { writtenBy } from "./locks.ts";
import { atMost } from "./look-back.ts";

const DRAWN = "drawn";
const DEEPEST = 8;

class Drawn {
  readonly #flow: Flow;
  readonly #known: Definitions;
  readonly #locations: MemoryLocations;
  readonly #names = new Map<string, boolean>();
  readonly #counter: Affine;
  readonly step: number;

  private constructor(
    flow: Flow,
    known: Definitions,
    locations: MemoryLocations,
    counter: Affine,
    step: number,
  ) {
    this.#flow = flow;
    this.#known = known;
    this.#locations = locations;
    this.#counter = counter;
    this.step = step;
  }

  /** Their addresses are the same in all threads, and only draws change them. */
  static all(flow: Flow, known: Definitions, locations: MemoryLocations): readonly Drawn[] {
    const found: Drawn[] = [];
    for (const one of flow.instructions) {
      const counter = addressOf(operandWritten(one), known);
      if (!(amountOf(one, known) > 0) || counter === undefined) continue;
      if (![...counter.terms.keys()].every(isOfGrid)) continue;
      if (found.some((other) => isSame(other.#counter, counter))) continue;
      const own = locations.of(one, operandWritten(one));
      const writers = flow.instructions.filter((other) => {
        const target = operandWritten(other);
        return target !== undefined && mayAlias(locations.of(other, target), own);
      });
      const amounts = writers.map((other) =>
        isSame(addressOf(operandWritten(other), known), counter) ? amountOf(other, known) : 0,
      );
      const step = Math.min(...amounts);
      if (own.roots !== undefined && step > 0)
        found.push(new Drawn(flow, known, locations, counter, step));
    }
    return found;
  }

  of(value: Affine): Affine {
    const terms = new Map<string, number>();
    for (const [name, factor] of value.terms) {
      const term = this.#isDrawn(name, 0) ? DRAWN : name;
      terms.set(term, (terms.get(term) ?? 0) + factor);
    }
    return { constant: value.constant, terms };
  }

  #isDrawn(name: string, depth: number): boolean {
    if (!name.startsWith("%") || depth > DEEPEST) return false;
    const before = this.#names.get(name);
    if (before !== undefined) return before;
    const writers = this.#flow.instructions.filter((one) => writtenNames(one).includes(name));
    const found = writers.length > 0 && writers.every((one) => this.#gives(one, depth));
    this.#names.set(name, found);
    return found;
  }

  #gives(one: Instruction, depth: number): boolean {
    const { operation, operands, predicate } = one;
    if (predicate !== undefined) return false;
    const [to, from] = operands;
    switch (operation.opcode) {
      case "atom":
        return amountOf(one, this.#known) > 0 && this.#isCounter(from) && to?.kind === "name";
      case "mov":
        return this.#isNumber(from, depth);
      case "ld":
        return to?.kind === "name" && this.#isHandedOn(one, depth);
    }
    return false;
  }

  #isCounter = (operand: Operand | undefined) =>
    isSame(addressOf(operand, this.#known), this.#counter);

  #isNumber(operand: Operand | undefined, depth: number): boolean {
    const { constant, terms } = affine(operand, this.#known);
    const [[name, factor] = ["", 0], ...more] = terms;
    return constant === 0 && factor === 1 && more.length === 0 && this.#isDrawn(name, depth + 1);
  }

  #isHandedOn(load: Instruction, depth: number): boolean {
    const location = this.#locations.of(load, operandRead(load));
    if (location.space !== "shared" || location.offset === undefined) return false;
    const stores = this.#flow.instructions.filter((other) => {
      const target = operandWritten(other);
      return target !== undefined && mayAlias(this.#locations.of(other, target), location);
    });
    return (
      stores.length > 0 &&
      stores.every(
        (store) =>
          store.operation.opcode === "st" &&
          isOfSameWidth(store, load) &&
          isSame(
            addressOf(store.operands[0], this.#known),
            addressOf(operandRead(load), this.#known),
          ) &&
          this.#isNumber(store.operands[1], depth),
      )
    );
  }
}

const isOfSameWidth = (store: Instruction, load: Instruction) =>
  store.operation.modifiers.at(-1)?.slice(1) === load.operation.modifiers.at(-1)?.slice(1);

function amountOf({ operation, operands }: Instruction, known: Definitions): number {
  const { opcode, modifiers } = operation;
  const type = modifiers.at(-1) ?? "";
  if ((opcode !== "atom" && opcode !== "red") || !modifiers.includes("add")) return Number.NaN;
  if (!/^[us](32|64)$/.test(type)) return Number.NaN;
  const added = constantValue(operands[opcode === "atom" ? 2 : 1], known);
  return type.endsWith("64") || Number.isNaN(added) ? added : added | 0;
}

export function isBehindDrawn(
  one: Instruction,
  flow: Flow,
  known: Definitions,
  locations: MemoryLocations,
): boolean {
  const read = operandRead(one);
  const exact = addressOf(read, known);
  const most = exact && atMost(exact, flow, known);
  const table = locations.of(one, read);
  if (most === undefined || table.roots === undefined) return false;
  return Drawn.all(flow, known, locations).some((drawn) => {
    const limit = drawn.of(most);
    const stride = limit.terms.get(DRAWN) ?? 0;
    if (!(stride > 0) || ![...limit.terms.keys()].every(isKnown)) return false;
    return flow.instructions.every((other) => {
      const target = operandWritten(other);
      if (target === undefined || !mayAlias(locations.of(other, target), table)) return true;
      const address = addressOf(target, known);
      if (address === undefined) return false;
      const apart = plus(drawn.of(address), limit, -1);
      return apart.terms.size === 0 && apart.constant + stride * drawn.step >= table.bytes;
    });
  });
}

const isKnown = (name: string) => name === DRAWN || isOfGrid(name);

export function drawnTurnTests(
  index: number,
  iterations: Iterations,
  locations: MemoryLocations,
): ReadonlySet<number> {
  const none: ReadonlySet<number> = new Set();
  const { flow, known } = iterations;
  const read = flow.instructions[index];
  const place = read && operandRead(read);
  const word = addressOf(place, known);
  if (read === undefined || word === undefined || ![...word.terms.keys()].every(isOfGrid))
    return none;
  const own = locations.of(read, place);
  if (own.roots === undefined) return none;
  const writers = [...flow.instructions.keys()].filter((i) => {
    const other = flow.instructions[i] as Instruction;
    const target = operandWritten(other);
    return (
      target !== undefined &&
      mayAlias(locations.of(other, target), own) &&
      amountOf(other, known) !== 0
    );
  });
  for (const drawn of Drawn.all(flow, known, locations)) {
    const tests = iterations.leavings.flatMap((leaving) => {
      const turn = relation(leaving) === "eq" && turnIn(leaving.compare, index, iterations, drawn);
      return typeof turn === "number" ? [{ ...leaving, turn }] : [];
    });
    const [{ turn } = { turn: undefined }, ...more] = tests;
    if (turn === undefined || more.some((one) => one.turn !== turn)) continue;
    const compares = new Set(tests.map(({ compare }) => compare));
    const isExit = (from: number, to: number) =>
      waysOf(flow, from, known).some(
        (way) =>
          way.to === to &&
          way.found.some((one) => compares.has(one.compare) && relation(one) === "eq"),
      );
    const unseen = reachableWithout(flow, isExit);
    const stores = writers.map((i) => {
      const value = drawn.of(affine(writtenBy(flow.instructions[i] as Instruction), known));
      const isNumber = value.terms.size === 1 && value.terms.get(DRAWN) === 1;
      return isNumber && value.constant + drawn.step > turn;
    });
    const adds = writers.map(
      (i) =>
        amountOf(flow.instructions[i] as Instruction, known) > 0 &&
        !unseen.has(flow.blockOf[i] ?? -1),
    );
    if (writers.length > 0 && (stores.every(Boolean) || adds.every(Boolean)))
      return new Set(tests.map(({ compare }) => flow.instructions.indexOf(compare)));
  }
  return none;
}

/** c, if the comparison asks whether the value read last is a drawn number plus c. */
function turnIn(
  { operands: [, a, b] }: Instruction,
  index: number,
  iterations: Iterations,
  drawn: Drawn,
): number | undefined {
  const read = iterations.flow.instructions[index] as Instruction;
  const isRead = (operand: Operand | undefined) => {
    const { constant, terms } = iterations.value(operand);
    const [[name, factor] = ["", 0], ...more] = terms;
    const writers = iterations.writers(name);
    return (
      constant === 0 &&
      factor === 1 &&
      more.length === 0 &&
      writers.length > 0 &&
      writers.every((one) => one === read)
    );
  };
  const number = isRead(a) ? b : isRead(b) ? a : undefined;
  if (number === undefined || !iterations.stays(iterations.value(number))) return undefined;
  const { constant, terms } = drawn.of(iterations.value(number));
  return terms.size === 1 && terms.get(DRAWN) === 1 ? constant : undefined;
}
