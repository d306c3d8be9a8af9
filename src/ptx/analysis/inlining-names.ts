// A variable of the parameter space becomes one register of caller and callee: one value.

import { baseName } from "../syntax/operation-facts.ts";
import { isSpecial } from "../syntax/special-registers.ts";
import {
  type Func,
  type Instruction,
  type Operand,
  type Operation,
  operation,
} from "../syntax/syntax.ts";
import type { Flow } from "./control-flow.ts";
import { withNames } from "./renamed-operands.ts";

const MOVE: Operation = operation("mov.b64");
/** Analyses follow only that the result depends on the value, of which a part is moved. */
const PART: Operation = operation("prmt.b32");

export const nameOf = (name: string): Operand => ({ kind: "name", name });

export const move = (at: Instruction, to: string, from: Operand): Instruction => ({
  kind: "instruction",
  at: at.at,
  end: at.end,
  predicate: undefined,
  operation: MOVE,
  operands: [nameOf(to), from],
});

interface Cells {
  readonly names: ReadonlyMap<string, string>;
  /** They are arguments that are passed directly, not in a variable of the parameter space. */
  readonly registers: readonly { readonly inside: string; readonly given: Operand }[];
}

export class Renaming {
  readonly #copy: number;
  readonly #cells: ReadonlyMap<string, string>;
  readonly #own: ReadonlySet<string>;
  readonly #families: readonly string[];
  readonly #entry: boolean;
  /** An instruction that uses a variable of the parameter space belongs to this call. */
  readonly #calls: ReadonlyMap<number, number>;
  readonly #known = new Map<string, string>();

  constructor(func: Func, flow: Flow, copy: number, cells: ReadonlyMap<string, string>) {
    this.#copy = copy;
    this.#cells = cells;
    this.#entry = func.entry;
    const declared = flow.others.flatMap((one) =>
      one.kind === "variable" && /^(reg|local|param)$/.test(one.space) ? one.names : [],
    );
    this.#own = new Set(declared.filter((one) => one.count === undefined).map((one) => one.name));
    this.#families = declared.filter((one) => one.count !== undefined).map((one) => one.name);
    this.#calls = callsOfParameters(
      flow,
      (name) => cells.has(name) || (func.entry && !this.#own.has(name)),
    );
  }

  instructions(one: Instruction, index: number): readonly Instruction[] {
    const { opcode, modifiers } = one.operation;
    if (opcode === "call") return [this.#outside(one, index)];
    if (!modifiers.includes("param") || (opcode !== "ld" && opcode !== "st"))
      return [this.rename(one)];
    const stores = opcode === "st";
    const [place, value] = stores ? one.operands : [one.operands[1], one.operands[0]];
    if (place?.kind !== "memory" || place.base.kind !== "name" || value === undefined)
      return [this.rename(one)];
    const cell = this.#cells.get(place.base.name) ?? this.#cellAt(place.base.name, index);
    // Parameters of a kernel are memory, not registers.
    if (cell === undefined) return [this.rename(one)];
    const { kind, at, end, predicate, operands } = this.rename(one);
    const given = stores ? operands[1] : operands[0];
    if (given === undefined) return [];
    const whole = given.kind !== "vector" && /^\+?0?$/.test(place.offset);
    const done = whole ? MOVE : PART;
    const cells = nameOf(cell);
    return [
      {
        kind,
        at,
        end,
        predicate,
        operation: done,
        operands: stores ? [cells, given] : [given, cells],
      },
    ];
  }

  #outside(call: Instruction, index: number): Instruction {
    const operands = call.operands.map((list) => {
      if (list.kind !== "list") return list;
      const elements = list.elements.map((one) =>
        one.kind === "name" && this.#own.has(one.name)
          ? nameOf(this.#cellAt(one.name, index) ?? one.name)
          : this.#operand(one),
      );
      return { ...list, elements };
    });
    return { ...this.rename(call), operands };
  }

  rename(one: Instruction): Instruction {
    if (this.#copy === 0) return one;
    const predicate = one.predicate && {
      ...one.predicate,
      register: this.#name(one.predicate.register),
    };
    return { ...one, predicate, operands: one.operands.map((operand) => this.#operand(operand)) };
  }

  cellsOf(call: Instruction, index: number, callee: Func): Cells {
    const lists = call.operands.flatMap((one) => (one.kind === "list" ? [one.elements] : []));
    const returns = call.operands[0]?.kind === "list" ? (lists.shift() ?? []) : [];
    const names = new Map<string, string>();
    const registers: { inside: string; given: Operand }[] = [];
    const tie = (variables: Func["params"], given: readonly Operand[]) =>
      variables.forEach(({ space, names: [declared] }, i) => {
        const inside = declared?.name ?? "";
        const outside = given[i];
        const cell =
          outside?.kind === "name" && space === "param"
            ? (this.#cells.get(outside.name) ?? this.#cellAt(outside.name, index))
            : undefined;
        names.set(inside, cell ?? `${inside}@${this.#copy}_${index}`);
        if (cell === undefined && outside !== undefined)
          registers.push({ inside, given: this.#operand(outside) });
      });
    tie(callee.returns, returns);
    tie(callee.params, lists[0] ?? []);
    return { names, registers };
  }

  #cellAt(name: string, index: number): string | undefined {
    if (this.#entry && !this.#own.has(name)) return undefined;
    return `${name}@${this.#copy}_${this.#calls.get(index) ?? "any"}`;
  }

  #operand(operand: Operand): Operand {
    return withNames(operand, (name) => this.#name(name));
  }

  #name(name: string): string {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const made = this.#cells.get(name) ?? (this.#isOwn(name) ? `${name}@${this.#copy}` : name);
    this.#known.set(name, made);
    return made;
  }

  #isOwn(name: string): boolean {
    const base = baseName(name);
    if (this.#copy === 0 || isSpecial(base)) return false;
    return (
      base.startsWith("%") ||
      this.#own.has(base) ||
      this.#families.some((one) => base.startsWith(one))
    );
  }
}

/** Arguments have to be in the block of their call; otherwise all calls share their variables. */
function callsOfParameters(
  { instructions, blocks }: Flow,
  isOwn: (name: string) => boolean,
): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const parameterName = (one: Instruction | undefined) => {
    const place = one?.operation.opcode === "st" ? one.operands[0] : one?.operands[1];
    const isParameter = /^(ld|st)\.param/.test(one?.operation.text ?? "");
    return isParameter && place?.kind === "memory" && place.base.kind === "name"
      ? place.base.name
      : undefined;
  };
  for (const { first, end } of blocks) {
    let last = -1;
    const before: { i: number; name: string }[] = [];
    for (let i = first; i < end; i += 1) {
      const one = instructions[i];
      const name = parameterName(one);
      if (one?.operation.opcode === "call") {
        const taken = new Set(
          one.operands.flatMap((list) =>
            list.kind === "list"
              ? list.elements.flatMap((element) => (element.kind === "name" ? [element.name] : []))
              : [],
          ),
        );
        for (const each of before) if (taken.has(each.name)) found.set(each.i, i);
        found.set(i, i);
        before.length = 0;
        last = i;
      } else if (name !== undefined && one?.operation.opcode === "st") before.push({ i, name });
      else if (name !== undefined && last >= 0) found.set(i, last);
    }
  }
  const lost = instructions.some((one, i) => {
    const name = parameterName(one);
    return name !== undefined && !isOwn(name) && !found.has(i);
  });
  return lost ? new Map() : found;
}
