// Only values count that a thread does not change: parameters, its number and its block's.

import { type Affine, affine, type Definitions, plus } from "../analysis/addresses.ts";
import { type Condition, relation, waysOf } from "../analysis/conditions.ts";
import { type Flow, reachableWithout } from "../analysis/control-flow.ts";
import type { Instruction } from "../syntax/syntax.ts";

/** They hold on all edges without which block n is not reached. */
export function conditionsAt(n: number, flow: Flow, known: Definitions): readonly Condition[] {
  return flow.blocks.flatMap((_, from) =>
    waysOf(flow, from, known).flatMap(({ to, found }) => {
      const isThis = (one: number, other: number) => one === from && other === to;
      return found.length === 0 || reachableWithout(flow, isThis).has(n) ? [] : found;
    }),
  );
}

export const factsAt = (n: number, flow: Flow, known: Definitions): Facts =>
  new Facts(conditionsAt(n, flow, known), flow, known);

/** A sum of values is in the range, and is none of `not`. */
interface Range {
  readonly sum: string;
  readonly least: number;
  readonly most: number;
  readonly not: readonly number[];
}

const DEEPEST = 12;

class Facts {
  readonly #flow: Flow;
  readonly #known: Definitions;
  readonly #ranges = new Map<string, Range>();

  constructor(conditions: readonly Condition[], flow: Flow, known: Definitions) {
    this.#flow = flow;
    this.#known = known;
    for (const one of conditions) {
      const range = rangeOf(one, known);
      if (range === undefined) continue;
      const before = this.#ranges.get(range.sum);
      this.#ranges.set(range.sum, {
        sum: range.sum,
        least: Math.max(range.least, before?.least ?? range.least),
        most: Math.min(range.most, before?.most ?? range.most),
        not: [...range.not, ...(before?.not ?? [])],
      });
    }
  }

  exclude(from: number, to: number): boolean {
    const { successors = [], exits = false, end = 0 } = this.#flow.blocks[from] ?? {};
    const { operation, predicate } = this.#flow.instructions[end - 1] ?? {};
    if (operation?.opcode !== "bra" || predicate === undefined || exits) return false;
    const outcome = this.#evaluate(predicate.register, 0);
    if (outcome === undefined || successors.length !== 2) return false;
    // The target of the branch is first.
    return to !== (outcome !== predicate.negated ? successors[0] : successors[1]);
  }

  #evaluate(register: string, depth: number): boolean | undefined {
    const made = this.#known.get(register);
    if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return undefined;
    const of = (n: number) => {
      const operand = made.operands[n];
      return operand?.kind === "name" ? this.#evaluate(operand.name, depth + 1) : undefined;
    };
    const { opcode, modifiers } = made.operation;
    switch (opcode) {
      case "mov":
        return of(1);
      case "not": {
        const value = of(1);
        return value === undefined ? undefined : !value;
      }
      case "and":
      case "or": {
        const both = [of(1), of(2)];
        if (both.includes(opcode === "or")) return opcode === "or";
        return both.includes(undefined) ? undefined : opcode === "and";
      }
    }
    const isPlain = !modifiers.some((one) => /^(and|or|xor)$/.test(one));
    return opcode === "setp" && isPlain ? this.#holds(made) : undefined;
  }

  #holds(compare: Instruction): boolean | undefined {
    const asked = rangeOf({ compare, when: true }, this.#known);
    const range = asked && this.#ranges.get(asked.sum);
    if (asked === undefined || range === undefined) return undefined;
    const [without] = asked.not;
    if (without !== undefined) return differs(range, without);
    if (asked.least === asked.most) {
      const differ = differs(range, asked.least);
      return differ === undefined ? undefined : !differ;
    }
    if (range.least >= asked.least && range.most <= asked.most) return true;
    return range.most < asked.least || range.least > asked.most ? false : undefined;
  }
}

function differs({ least, most, not }: Range, number: number): boolean | undefined {
  if (number < least || number > most || not.includes(number)) return true;
  return least === most ? false : undefined;
}

function rangeOf({ compare, when }: Condition, known: Definitions): Range | undefined {
  const type = compare.operation.modifiers.at(-1) ?? "";
  if (!/^[bus](32|64)$/.test(type) || compare.operands[0]?.kind !== "name") return undefined;
  const [, a, b] = compare.operands;
  const apart = plus(affine(a, known), affine(b, known), -1);
  const names = [...apart.terms.keys()].sort();
  const [first] = names;
  if (first === undefined || !names.every(isSteady)) return undefined;
  const turned = (apart.terms.get(first) ?? 0) < 0;
  const sum = names.map((name) => `${name} ${factor(apart, name, turned)}`).join();
  const bound = turned ? apart.constant : -apart.constant;
  const how = relation({ compare, when });
  const order = turned ? (opposite[how] ?? how) : how;
  const all = { sum, least: -Infinity, most: Infinity, not: [] };
  switch (order) {
    case "eq":
      return { ...all, least: bound, most: bound };
    case "ne":
      return { ...all, not: [bound] };
  }
  if (!type.startsWith("s")) return undefined;
  switch (order) {
    case "lt":
      return { ...all, most: bound - 1 };
    case "le":
      return { ...all, most: bound };
    case "gt":
      return { ...all, least: bound + 1 };
    case "ge":
      return { ...all, least: bound };
  }
  return undefined;
}

const factor = ({ terms }: Affine, name: string, turned: boolean) =>
  (turned ? -1 : 1) * (terms.get(name) ?? 0);

const opposite: Readonly<Record<string, string>> = { lt: "gt", gt: "lt", le: "ge", ge: "le" };

const isSteady = (name: string) => name.startsWith("[") || /^%n?(tid|ctaid)\.[xyz]$/.test(name);
