// Compilers reuse a register for unrelated values. Definitions that can reach a common use form a
// web, and each web gets a name of its own, so that analyses find a register's only definition. A
// register that can only hold one number is replaced by it (constant propagation).

import { gatherNames, SEVERAL } from "../syntax/names.ts";
import { baseName, readsResult, writesFirst } from "../syntax/operation-facts.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Flow } from "./control-flow.ts";
import { withNames } from "./renamed-operands.ts";
import { scopedInstructions } from "./scoped-names.ts";

/** Registers of inner scopes get names, too. It is kept, because several analyses ask. */
export function splitLiveRanges(flow: Flow): Flow {
  const before = known.get(flow);
  if (before !== undefined) return before;
  const found = split(flow);
  known.set(flow, found);
  return found;
}

const known = new WeakMap<Flow, Flow>();

function split(original: Flow): Flow {
  const flow = withScopedNames(original);
  const { names } = flow;
  if (!names.writer.includes(SEVERAL)) return flow;
  const webs = new Webs(flow);
  const versions = webs.versions();
  const constants = webs.constants();
  if (versions.size === 0 && constants.size === 0) return flow;
  const instructions = flow.instructions.map((one, i): Instruction => {
    const first = names.at[2 * i] ?? 0;
    const middle = names.at[2 * i + 1] ?? 0;
    const end = names.at[2 * i + 2] ?? 0;
    const renamedIn = (from: number, to: number) => {
      let renamed: Map<string, string> | undefined;
      for (let k = from; k < to; k += 1) {
        const version = versions.get(webs.webAt(k));
        if (version === undefined) continue;
        renamed ??= new Map();
        const name = names.texts[names.numbers[k] ?? 0] ?? "";
        renamed.set(name, `${name}#${version}`);
      }
      return renamed;
    };
    const written = renamedIn(first, middle);
    const read = renamedIn(middle, end);
    const numbers = constants.get(i);
    if (written === undefined && read === undefined && numbers === undefined) return one;
    const writes = writesFirst(one);
    const operands = one.operands.map((operand, n) => {
      const number = operand.kind === "name" ? numbers?.get(operand.name) : undefined;
      if (number !== undefined && !(writes && n === 0)) return number;
      const renamed = writes && n === 0 ? written : read;
      return renamed === undefined
        ? operand
        : withNames(operand, (name) => versioned(name, renamed));
    });
    const predicate = one.predicate && {
      ...one.predicate,
      register: versioned(one.predicate.register, read),
    };
    return { ...one, predicate, operands };
  });
  return { ...flow, instructions, names: gatherNames(instructions) };
}

function withScopedNames(flow: Flow): Flow {
  const instructions = scopedInstructions(flow);
  if (instructions === flow.instructions) return flow;
  return { ...flow, instructions, names: gatherNames(instructions), scopes: new Map() };
}

/** It makes "%v#2.y" of "%v.y". */
function versioned(name: string, renamed: ReadonlyMap<string, string> | undefined): string {
  const base = baseName(name);
  const other = renamed?.get(base);
  return other === undefined ? name : other + name.slice(base.length);
}

/** A value is made by a definition, or is what a register holds when a block begins. */
class Webs {
  readonly #flow: Flow;
  readonly #parent: number[] = [];
  readonly #register: number[] = [];
  /** It has the value that is written or read at the place in `names.numbers`, or -1. */
  readonly #values: Int32Array;
  /** It has the number that a move has put there, by value; "several": it may be anything else. */
  readonly #numbers: (Definition | undefined)[] = [];
  /** The value at the end of a block becomes these at the begins of the next blocks. */
  readonly #becomes = new Map<number, number[]>();
  /** It has the values as the block begins, if they are needed, and as it ends, by register. */
  readonly #begins: Map<number, number>[];
  readonly #ends: Map<number, number>[];

  constructor(flow: Flow) {
    this.#flow = flow;
    this.#values = new Int32Array(flow.names.numbers.length).fill(-1);
    this.#begins = flow.blocks.map(() => new Map());
    this.#ends = flow.blocks.map(() => new Map());
    flow.blocks.forEach((_, n) => {
      this.#within(n);
    });
    this.#join();
  }

  webAt(place: number): number {
    const value = this.#values[place] ?? -1;
    return value < 0 ? -1 : this.#root(value);
  }

  versions(): ReadonlyMap<number, number> {
    const byRegister = new Map<number, Set<number>>();
    this.#register.forEach((register, value) => {
      const webs = byRegister.get(register) ?? new Set();
      byRegister.set(register, webs.add(this.#root(value)));
    });
    const found = new Map<number, number>();
    for (const webs of byRegister.values())
      if (webs.size > 1) [...webs].forEach((web, version) => void found.set(web, version));
    return found;
  }

  #within(n: number): void {
    const { blocks, instructions, names } = this.#flow;
    const { first = 0, end = 0 } = blocks[n] ?? {};
    const ends = this.#ends[n] as Map<number, number>;
    for (let i = first; i < end; i += 1) {
      const one = instructions[i] as Instruction;
      const writes = names.at[2 * i] ?? 0;
      const reads = names.at[2 * i + 1] ?? 0;
      for (let k = reads; k < (names.at[2 * i + 2] ?? 0); k += 1) {
        const register = names.numbers[k] ?? 0;
        if (names.writer[register] !== SEVERAL) continue;
        this.#values[k] = this.#current(register, n);
      }
      const keeps = one.predicate !== undefined || readsResult(one.operation) || writesPart(one);
      for (let k = writes; k < reads; k += 1) {
        const register = names.numbers[k] ?? 0;
        if (names.writer[register] !== SEVERAL) continue;
        const value = keeps ? this.#current(register, n) : this.#make(register);
        this.#values[k] = value;
        ends.set(register, value);
        this.#numbers[value] = (keeps ? undefined : numberIn(one)) ?? "several";
      }
    }
  }

  constants(): ReadonlyMap<number, ReadonlyMap<string, Operand>> {
    for (const value of this.#begins[0]?.values() ?? []) this.#numbers[value] = "several";
    const open = [...this.#numbers.keys()].filter((value) => this.#numbers[value] !== undefined);
    for (let from = open.pop(); from !== undefined; from = open.pop())
      for (const to of this.#becomes.get(from) ?? []) {
        const before = this.#numbers[to];
        const after =
          before === undefined ? this.#numbers[from] : meet(before, this.#numbers[from]);
        if (after === before) continue;
        this.#numbers[to] = after;
        open.push(to);
      }
    const { names, instructions } = this.#flow;
    const found = new Map<number, Map<string, Operand>>();
    for (let i = 0; i < instructions.length; i += 1)
      for (let k = names.at[2 * i + 1] ?? 0; k < (names.at[2 * i + 2] ?? 0); k += 1) {
        const number = this.#numbers[this.#values[k] ?? -1];
        if (number === undefined || number === "several") continue;
        const known = found.get(i) ?? new Map();
        found.set(i, known.set(names.texts[names.numbers[k] ?? 0] ?? "", number));
      }
    return found;
  }

  #current(register: number, n: number): number {
    const value = this.#ends[n]?.get(register) ?? this.#make(register);
    if (!this.#ends[n]?.has(register)) {
      this.#ends[n]?.set(register, value);
      this.#begins[n]?.set(register, value);
    }
    return value;
  }

  #join(): void {
    const before: number[][] = this.#flow.blocks.map(() => []);
    this.#flow.blocks.forEach(({ successors }, n) => {
      for (const one of successors) before[one]?.push(n);
    });
    const open = this.#begins.flatMap((values, n) =>
      [...values].map(([register, value]) => ({ n, register, value })),
    );
    for (let one = open.pop(); one !== undefined; one = open.pop())
      for (const from of before[one.n] ?? []) {
        const passes = !this.#ends[from]?.has(one.register);
        const value = this.#current(one.register, from);
        if (passes) open.push({ n: from, register: one.register, value });
        const next = this.#becomes.get(value);
        if (next === undefined) this.#becomes.set(value, [one.value]);
        else next.push(one.value);
        this.#parent[this.#root(value)] = this.#root(one.value);
      }
  }

  #make(register: number): number {
    this.#register.push(register);
    this.#parent.push(this.#parent.length);
    return this.#parent.length - 1;
  }

  #root(value: number): number {
    let root = value;
    while (this.#parent[root] !== root) root = this.#parent[root] ?? root;
    for (let at = value; at !== root; ) {
      const next = this.#parent[at] ?? root;
      this.#parent[at] = root;
      at = next;
    }
    return root;
  }
}

const writesPart = ({ operands: [first] }: Instruction) =>
  first?.kind === "name" && first.name.includes(".");

function numberIn({ operation, operands: [, from] }: Instruction): Operand | undefined {
  const isMove = operation.opcode === "mov" && !operation.modifiers.includes("pred");
  return isMove && from?.kind === "immediate" ? from : undefined;
}

type Definition = Operand | "several";

const meet = (a: Definition, b: Definition | undefined): Definition =>
  b === undefined || (a !== "several" && b !== "several" && isSameNumber(a, b)) ? a : "several";

const isSameNumber = (a: Operand, b: Operand) =>
  a.kind === "immediate" && b.kind === "immediate" && a.text === b.text;
