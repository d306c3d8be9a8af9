// Does an address tell its block? Numbers are taken apart as they were put together: a product and
// a rest below the factor, bits above and below a place. They are assumed not to overflow.

import {
  type Affine,
  affine,
  BY_COLUMNS,
  constantValue,
  type Definitions,
  isOfGrid,
} from "../analysis/addresses.ts";
import { type Condition, relation } from "../analysis/conditions.ts";
import type { Flow } from "../analysis/control-flow.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import { conditionsAt } from "./facts.ts";

export function decodes(
  address: Affine,
  wanted: readonly string[],
  at: readonly number[],
  flow: Flow,
  known: Definitions,
): boolean {
  const [first = [], ...others] = at.map((n) => conditionsAt(n, flow, known));
  const inAll = first.filter(({ compare, when }) =>
    others.every((all) => all.some((one) => one.compare === compare && one.when === when)),
  );
  const decoding = new Decoding(known, inAll);
  decoding.learn(address);
  return wanted.every((name) => decoding.knows(name));
}

/** The factor of a higher digit is 2^L, a value of the whole grid, or a number. */
type Radix =
  | { readonly kind: "shift"; readonly by: Affine }
  | { readonly kind: "product"; readonly factor: Affine };

class Decoding {
  readonly #known: Definitions;
  readonly #conditions: readonly Condition[];
  readonly #learned = new Set<string>();
  readonly #halves = new Map<string, string>();

  constructor(known: Definitions, conditions: readonly Condition[]) {
    this.#known = known;
    this.#conditions = conditions;
  }

  knows(name: string): boolean {
    return this.#learned.has(name);
  }

  learn(value: Affine): void {
    const open = [...value.terms].filter(([name]) => !isOfGrid(name));
    const [one, other] = open;
    if (one === undefined || open.length > 2) return;
    if (other === undefined) {
      this.#learnName(one[0]);
      return;
    }
    for (const [low, high] of [
      [one, other],
      [other, one],
    ] as const) {
      const times = high[1] / low[1];
      const parts = times === 1 ? this.#parts(high[0]) : undefined;
      const radix: Radix | undefined =
        parts?.radix ??
        (Number.isInteger(times) && times > 1
          ? { kind: "product", factor: { constant: times, terms: new Map() } }
          : undefined);
      if (radix === undefined || !this.#isBelow(term(low[0]), radix)) continue;
      this.#learnName(low[0]);
      if (parts === undefined) this.#learnName(high[0]);
      else this.learn(parts.high);
    }
  }

  #parts(name: string): { readonly high: Affine; readonly radix: Radix } | undefined {
    const made = this.#definition(name);
    const [, first, second] = made?.operands ?? [];
    const [a, b] = [this.#affine(first), this.#affine(second)];
    if (made?.operation.opcode === "shl" && isAllOfGrid(b))
      return { high: a, radix: { kind: "shift", by: b } };
    if (made?.operation.opcode !== "mul" || made.operation.modifiers[0] === "hi") return undefined;
    if (isAllOfGrid(b)) return { high: a, radix: { kind: "product", factor: b } };
    return isAllOfGrid(a) ? { high: b, radix: { kind: "product", factor: a } } : undefined;
  }

  #learnName(name: string): void {
    if (this.#learned.has(name)) return;
    this.#learned.add(name);
    if (name === BY_COLUMNS) for (const one of ["%ctaid.x", "%ctaid.y"]) this.#learnName(one);
    const made = this.#definition(name);
    if (made === undefined) return;
    const [, first, second, third] = made.operands;
    const [a, b, c] = [this.#affine(first), this.#affine(second), this.#affine(third)];
    switch (made.operation.opcode) {
      case "mad":
        if (made.operation.modifiers[0] === "hi") return;
        for (const [factor, high] of [
          [a, b],
          [b, a],
        ] as const) {
          if (!isAllOfGrid(factor) || !this.#isBelow(c, { kind: "product", factor })) continue;
          this.learn(high);
          this.learn(c);
        }
        return;
      case "shl":
        if (isAllOfGrid(b)) this.learn(a);
        return;
      case "shr":
        if (isAllOfGrid(b) && this.#isNatural(a)) this.#learnHalf(a, b, "above");
        return;
      case "and": {
        const place = this.#bitsOf(second);
        if (place !== undefined) this.#learnHalf(a, place, "below");
      }
    }
  }

  #learnHalf(value: Affine, place: Affine, half: string): void {
    const key = `${this.#key(value)} ${this.#key(place)}`;
    const before = this.#halves.get(key);
    this.#halves.set(key, half);
    if (before !== undefined && before !== half) this.learn(value);
  }

  /** It is L of a mask 2^L - 1. */
  #bitsOf(mask: Operand | undefined): Affine | undefined {
    const number = constantValue(mask, this.#known);
    if (!Number.isNaN(number)) {
      const bits = Math.log2(number + 1);
      return Number.isInteger(bits) ? { constant: bits, terms: new Map() } : undefined;
    }
    // (1 << L) - 1, or not (-1 << L), which is -(-1 << L) - 1.
    const { constant, terms } = this.#affine(mask);
    const [[name, factor] = ["", 0]] = terms;
    const made = this.#definition(name);
    if (constant !== -1 || terms.size !== 1 || made?.operation.opcode !== "shl") return undefined;
    const [, shifted, by] = made.operands;
    const isOne = constantValue(shifted, this.#known) === factor && Math.abs(factor) === 1;
    return isOne && isAllOfGrid(this.#affine(by)) ? this.#affine(by) : undefined;
  }

  #isBelow(low: Affine, radix: Radix): boolean {
    const bits = this.#maskOf(low);
    if (radix.kind === "shift")
      return bits !== undefined && this.#key(bits) === this.#key(radix.by);
    if (!this.#isNatural(low)) return false;
    if (bits?.terms.size === 0 && radix.factor.terms.size === 0)
      return 2 ** bits.constant <= radix.factor.constant;
    const [small, large] = [this.#key(low), this.#key(radix.factor)];
    // A block's number is below the number of blocks.
    if (["x", "y", "z"].some((axis) => small === `%ctaid.${axis}` && large === `%nctaid.${axis}`))
      return true;
    return this.#conditions.some((one) => {
      const [, a, b] = one.compare.operands;
      const [left, right] = [this.#key(this.#affine(a)), this.#key(this.#affine(b))];
      const how = relation(one);
      if (!/^[us]32$/.test(one.compare.operation.modifiers.at(-1) ?? "")) return false;
      return (
        ((how === "lt" || how === "lo") && left === small && right === large) ||
        ((how === "gt" || how === "hi") && right === small && left === large)
      );
    });
  }

  /** L, if it is the lowest L bits of something. */
  #maskOf(value: Affine): Affine | undefined {
    const [[name, factor] = ["", 0]] = value.terms;
    const made = this.#definition(name);
    const isThis = value.terms.size === 1 && factor === 1 && value.constant === 0;
    return isThis && made?.operation.opcode === "and" ? this.#bitsOf(made.operands[2]) : undefined;
  }

  #isNatural({ constant, terms }: Affine): boolean {
    return (
      constant >= 0 &&
      [...terms].every(([name, factor]) => {
        if (factor < 0) return false;
        if (/^%n?(tid|ctaid)\.[xyz]$/.test(name)) return true;
        const made = this.#definition(name);
        const [, first, second] = made?.operands ?? [];
        if (made?.operation.opcode === "shr") return this.#isNatural(this.#affine(first));
        return (
          made?.operation.opcode === "and" &&
          [first, second].some((one) => this.#isNatural(this.#affine(one)))
        );
      })
    );
  }

  #definition(name: string): Instruction | undefined {
    const made = this.#known.get(name);
    return made?.predicate === undefined ? made : undefined;
  }

  #affine(operand: Operand | undefined): Affine {
    return affine(operand, this.#known);
  }

  /** Equal for values that are computed in the same way. */
  #key({ constant, terms }: Affine, depth = 0): string {
    const all = [...terms].map(([name, factor]) => {
      const made = this.#definition(name);
      const isSameEverywhere =
        made !== undefined && /^(shr|shl|and|mul)$/.test(made.operation.opcode);
      const text =
        isSameEverywhere && depth < DEEPEST
          ? `${made.operation.text}(${made.operands
              .slice(1)
              .map((one) => this.#key(this.#affine(one), depth + 1))
              .join()})`
          : name;
      return factor === 1 ? text : `${factor}*${text}`;
    });
    return [...all.sort(), ...(constant === 0 ? [] : [constant])].join("+");
  }
}

const DEEPEST = 6;

const term = (name: string): Affine => ({ constant: 0, terms: new Map([[name, 1]]) });

const isAllOfGrid = ({ terms }: Affine) => [...terms.keys()].every(isOfGrid);
