// Parameters become registers, and a loop around a call becomes one around the function's
// instructions. A function that is called twice is copied twice; a recursive call becomes a loop.

import { gatherNames } from "../syntax/names.ts";
import type { Func, Instruction } from "../syntax/syntax.ts";
import { type CallGraph, calleeOf } from "./call-graph.ts";
import { controlFlow, type Flow, type FlowBlock } from "./control-flow.ts";
import { move, nameOf, Renaming } from "./inlining-names.ts";
import { splitLiveRanges } from "./live-ranges.ts";
import { scopedInstructions } from "./scoped-names.ts";

const LARGEST = 200_000;

export function inline({ functions }: CallGraph): Flow | undefined {
  const [kernel, ...others] = functions;
  if (kernel === undefined) return undefined;
  if (others.length === 0) return splitLiveRanges(controlFlow(kernel));
  const building = new Building(others);
  return building.put(kernel, new Map(), []) === undefined
    ? undefined
    : splitLiveRanges(building.flow());
}

interface Copy {
  readonly func: Func;
  readonly entry: number;
  readonly cells: ReadonlyMap<string, string>;
  readonly returns: number[];
  readonly goesOn: number[];
}

class Building {
  readonly #functions: ReadonlyMap<string, Func>;
  readonly #instructions: Instruction[] = [];
  readonly #blocks: { first: number; end: number; successors: number[]; exits: boolean }[] = [];
  readonly #lost: number[] = [];
  #copies = 0;

  constructor(functions: readonly Func[]) {
    this.#functions = new Map(functions.map((one) => [one.name, one]));
  }

  /** `callers` are the copies on the call stack, outermost first. */
  put(func: Func, cells: ReadonlyMap<string, string>, callers: readonly Copy[]): Copy | undefined {
    const flow = controlFlow(func);
    const instructions = scopedInstructions(flow);
    const renaming = new Renaming(func, flow, this.#copies, cells);
    this.#copies += 1;
    const entry = this.#blocks.length;
    const copy: Copy = { func, entry, cells, returns: [], goesOn: [] };
    const begins: number[] = [];
    const ends: number[] = [];
    for (const block of flow.blocks) {
      begins.push(this.#begin());
      for (let i = block.first; i < block.end; i += 1) {
        const one = instructions[i];
        if (one === undefined) continue;
        const callee = this.#functions.get(
          one.operation.opcode === "call" ? (calleeOf(one) ?? "") : "",
        );
        if (callee === undefined) this.#instructions.push(...renaming.instructions(one, i));
        else if (!this.#call(one, i, callee, renaming, [...callers, copy])) return undefined;
      }
      if (flow.lost.includes(block.end - 1)) this.#lost.push(this.#instructions.length - 1);
      ends.push(this.#end());
      if (this.#instructions.length > LARGEST) return undefined;
    }
    flow.blocks.forEach((block, n) => {
      const end = ends[n] ?? 0;
      const last = this.#blocks[end];
      if (last === undefined) return;
      for (const one of block.successors) last.successors.push(begins[one] ?? 0);
      if (!block.exits) return;
      const leaves = flow.instructions[block.end - 1]?.operation.opcode === "exit";
      if (leaves || callers.length === 0) last.exits = true;
      else copy.returns.push(end);
    });
    return copy;
  }

  #call(
    call: Instruction,
    index: number,
    callee: Func,
    renaming: Renaming,
    callers: readonly Copy[],
  ): boolean {
    const cells = renaming.cellsOf(call, index, callee);
    for (const { inside, given } of cells.registers)
      if (callee.params.some(({ names }) => names[0]?.name === inside))
        this.#instructions.push(move(call, cells.names.get(inside) ?? inside, given));
    const again = callers.find(({ func }) => func === callee);
    if (again !== undefined)
      for (const {
        names: [param],
      } of callee.params) {
        const inside = param?.name ?? "";
        this.#instructions.push(
          move(call, again.cells.get(inside) ?? inside, nameOf(cells.names.get(inside) ?? inside)),
        );
      }
    // Keeps the predicate of the call: which threads make it.
    this.#instructions.push({ ...renaming.rename(call), operands: [] });
    const from = this.#end();
    const copy = again ?? this.put(callee, cells.names, callers);
    if (copy === undefined) return false;
    const behind = this.#begin();
    this.#blocks[from]?.successors.push(copy.entry);
    if (call.predicate !== undefined) this.#blocks[from]?.successors.push(behind);
    copy.goesOn.push(behind);
    if (again === undefined) this.#finished.push(copy);
    else
      for (const {
        names: [result],
      } of callee.returns) {
        const inside = result?.name ?? "";
        this.#instructions.push(
          move(call, cells.names.get(inside) ?? inside, nameOf(again.cells.get(inside) ?? inside)),
        );
      }
    for (const { inside, given } of cells.registers)
      if (callee.returns.some(({ names }) => names[0]?.name === inside) && given.kind === "name")
        this.#instructions.push(move(call, given.name, nameOf(cells.names.get(inside) ?? inside)));
    return true;
  }

  readonly #finished: Copy[] = [];

  #begin(): number {
    this.#blocks.push({ first: this.#instructions.length, end: -1, successors: [], exits: false });
    return this.#blocks.length - 1;
  }

  #end(): number {
    const n = this.#blocks.length - 1;
    const block = this.#blocks[n];
    if (block !== undefined) block.end = this.#instructions.length;
    return n;
  }

  flow(): Flow {
    for (const { returns, goesOn } of this.#finished)
      for (const one of returns)
        for (const next of goesOn)
          if (!this.#blocks[one]?.successors.includes(next))
            this.#blocks[one]?.successors.push(next);
    const instructions = this.#instructions;
    const blockOf = new Int32Array(instructions.length);
    for (const [n, { first, end }] of this.#blocks.entries()) blockOf.fill(n, first, end);
    return {
      instructions,
      operations: new Set(instructions.map((one) => one.operation)),
      others: [],
      names: gatherNames(instructions),
      blocks: this.#blocks satisfies readonly FlowBlock[],
      blockOf,
      scopes: new Map(),
      lost: this.#lost,
      post: new Map(),
    };
  }
}
