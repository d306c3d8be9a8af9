import { type Affine, affine, type Definitions, plus, resultOf } from "../analysis/addresses.ts";
import { type Condition, sufficient } from "../analysis/conditions.ts";
import type { Flow } from "../analysis/control-flow.ts";
import { inEachRound, type Loop } from "../analysis/loop-nests.ts";
import { writtenNames } from "../syntax/operation-facts.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";

export interface Leaving extends Condition {
  readonly block: number;
}

export class Iterations {
  readonly flow: Flow;
  readonly loop: Loop;
  readonly known: Definitions;
  readonly #writers = new Map<string, number[]>();
  readonly #each = new Map<number, boolean>();
  readonly #moves = new Map<string, boolean>();
  #ways: readonly Leaving[] | undefined;
  #leavings: readonly Leaving[] | undefined;

  constructor(flow: Flow, loop: Loop, known: Definitions) {
    this.flow = flow;
    this.loop = loop;
    this.known = known;
    for (const block of loop.blocks) {
      const { first = 0, end = 0 } = flow.blocks[block] ?? {};
      for (let i = first; i < end; i += 1) {
        const one = flow.instructions[i];
        for (const name of one === undefined ? [] : writtenNames(one)) {
          const known = this.#writers.get(name);
          if (known === undefined) this.#writers.set(name, [i]);
          else known.push(i);
        }
      }
    }
  }

  writers(name: string): readonly Instruction[] {
    return (this.#writers.get(name) ?? []).flatMap((i) => this.flow.instructions[i] ?? []);
  }

  inEach(block: number): boolean {
    const known = this.#each.get(block);
    if (known !== undefined) return known;
    const found = this.loop.blocks.has(block) && inEachRound(this.flow, this.loop, block);
    this.#each.set(block, found);
    return found;
  }

  stays(value: Affine): boolean {
    return [...value.terms.keys()].every((name) => name !== "?" && !this.#writers.has(name));
  }

  moves(name: string): boolean {
    const known = this.#moves.get(name);
    if (known !== undefined) return known;
    const found = this.#step(name);
    this.#moves.set(name, found);
    return found;
  }

  #step(name: string): boolean {
    const [index, ...others] = this.#writers.get(name) ?? [];
    const one = index === undefined ? undefined : this.flow.instructions[index];
    if (index === undefined || one === undefined || others.length > 0) return false;
    if (one.predicate !== undefined || !this.inEach(this.flow.blockOf[index] ?? -1)) return false;
    const after = resultOf(one, this.known);
    if (after?.terms.get(name) !== 1) return false;
    const step = plus(after, { constant: 0, terms: new Map([[name, 1]]) }, -1);
    return (step.constant !== 0 || step.terms.size > 0) && this.stays(step);
  }

  movesOn(value: Affine, besides: (name: string) => boolean = () => false): boolean {
    let moves = false;
    for (const name of value.terms.keys()) {
      if (this.moves(name)) moves = true;
      else if (name === "?" || (this.#writers.has(name) && !besides(name))) return false;
    }
    return moves;
  }

  value(operand: Operand | undefined): Affine {
    return affine(operand, this.known);
  }

  /** They are sufficient to exit the loop and are tested in every iteration. */
  get leavings(): readonly Leaving[] {
    this.#leavings ??= this.ways.filter(({ block }) => this.inEach(block));
    return this.#leavings;
  }

  get ways(): readonly Leaving[] {
    this.#ways ??= [...this.loop.blocks].flatMap((block) => {
      const last = this.flow.instructions[(this.flow.blocks[block]?.end ?? 0) - 1];
      const when = this.#leavesWhen(block, last);
      if (when === undefined || last?.predicate === undefined) return [];
      return sufficient(last.predicate.register, when, this.known).map((one) => ({
        ...one,
        block,
      }));
    });
    return this.#ways;
  }

  #leavesWhen(block: number, last: Instruction | undefined): boolean | undefined {
    const { successors = [], exits = false } = this.flow.blocks[block] ?? {};
    if (last?.predicate === undefined) return undefined;
    const { negated } = last.predicate;
    const [first, second] = successors;
    const out = (one: number | undefined) => one !== undefined && !this.loop.blocks.has(one);
    if (exits) return /^(ret|exit)$/.test(last.operation.opcode) ? !negated : undefined;
    if (last.operation.opcode !== "bra" || second === undefined) return undefined;
    if (out(first)) return !negated;
    return out(second) ? negated : undefined;
  }
}
