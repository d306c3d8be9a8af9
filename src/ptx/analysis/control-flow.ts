import { gatherNames, type Names } from "../syntax/names.ts";
import {
  blockScope,
  findLabel,
  type LabelScope,
  labelScope,
  type Scope,
} from "../syntax/scopes.ts";
import type {
  Func,
  Instruction,
  Label,
  Operation,
  Statement,
  Variable,
  Verbatim,
} from "../syntax/syntax.ts";

export interface Flow {
  readonly instructions: readonly Instruction[];
  readonly operations: ReadonlySet<Operation>;
  readonly others: readonly (Variable | Verbatim)[];
  readonly names: Names;
  readonly blocks: readonly FlowBlock[];
  readonly blockOf: Int32Array;
  /** The key is the index of an instruction in the innermost `{ ... }` with its own registers. */
  readonly scopes: ReadonlyMap<number, Scope>;
  /** They are indices of branches to labels that are not declared; the graph is incomplete then. */
  readonly lost: readonly number[];
  readonly post: Map<boolean, Int32Array>;
}

export interface FlowBlock {
  readonly first: number;
  readonly end: number;
  readonly successors: readonly number[];
  readonly exits: boolean;
}

export const controlFlow = (func: Func): Flow => func.analyses.of(func.body, flowOf);

function flowOf(body: readonly Statement[] = []): Flow {
  const flat: Flat = {
    instructions: [],
    others: [],
    branches: new Map(),
    starts: new Map(),
    scopes: new Map(),
  };
  flatten(body, undefined, undefined, flat);
  return cut(flat);
}

interface Flat {
  readonly instructions: Instruction[];
  readonly others: (Variable | Verbatim)[];
  readonly branches: Map<number, readonly (Label | undefined)[]>;
  readonly starts: Map<Label, number>;
  readonly scopes: Map<number, Scope>;
}

function flatten(
  body: readonly Statement[],
  outer: LabelScope | undefined,
  registers: Scope | undefined,
  flat: Flat,
): void {
  const scope = labelScope(body, outer);
  for (const one of body) {
    if (one.kind === "instruction") {
      const branch = targets(one, body, scope);
      if (branch !== undefined) flat.branches.set(flat.instructions.length, branch);
      if (registers !== undefined) flat.scopes.set(flat.instructions.length, registers);
      flat.instructions.push(one);
    } else if (one.kind === "label") flat.starts.set(one, flat.instructions.length);
    else if (one.kind === "block") {
      const declares = one.body.some((each) => each.kind === "variable" && each.space === "reg");
      flatten(one.body, scope, declares ? blockScope(one.body, registers) : registers, flat);
    } else flat.others.push(one);
  }
}

function targets(
  { operation, operands }: Instruction,
  body: readonly Statement[],
  scope: LabelScope,
): readonly (Label | undefined)[] | undefined {
  if (operation.opcode === "bra")
    return [operands[0]?.kind === "name" ? findLabel(scope, operands[0].name) : undefined];
  if (operation.opcode !== "brx") return undefined;
  const list = operands[1]?.kind === "name" ? operands[1].name : "";
  const at = body.findIndex((one) => one.kind === "label" && one.name === list);
  const table = body[at + 1];
  if (at < 0 || table?.kind !== "verbatim" || table.word !== ".branchtargets") return [undefined];
  return branchTargets(table.text).map((name) => findLabel(scope, name));
}

/** They are the names in ".branchtargets A, B;". */
export const branchTargets = (text: string): readonly string[] =>
  text
    .slice(".branchtargets".length)
    .replace(";", "")
    .split(",")
    .map((name) => name.trim());

function cut({ instructions, others, branches, starts, scopes }: Flat): Flow {
  const count = instructions.length;
  const begins = new Uint8Array(count + 1);
  begins[0] = 1;
  for (const start of starts.values()) begins[start] = 1;
  for (const i of branches.keys()) begins[i + 1] = 1;
  instructions.forEach((one, i) => {
    if (leaves.has(one.operation.opcode)) begins[i + 1] = 1;
  });
  const firsts: number[] = [];
  const blockOf = new Int32Array(count);
  for (let i = 0; i < count; i += 1) {
    if (begins[i]) firsts.push(i);
    blockOf[i] = firsts.length - 1;
  }
  const lost: number[] = [];
  const blocks = firsts.map((first, n): FlowBlock => {
    const end = firsts[n + 1] ?? count;
    const last = instructions[end - 1];
    const branch = branches.get(end - 1);
    const successors: number[] = [];
    let exits = false;
    const goTo = (start: number) => {
      const block = blockOf[start];
      if (block === undefined) exits = true;
      else if (!successors.includes(block)) successors.push(block);
    };
    for (const label of branch ?? none) {
      const start = label === undefined ? undefined : starts.get(label);
      if (start === undefined) lost.push(end - 1);
      else goTo(start);
    }
    const opcode = last?.operation.opcode ?? "";
    if (opcode === "ret" || opcode === "exit") exits = true;
    const always = branch !== undefined || leaves.has(opcode);
    if (!always || last?.predicate !== undefined) goTo(end);
    return { first, end, successors, exits };
  });
  const operations = new Set(instructions.map(({ operation }) => operation));
  const names = gatherNames(instructions);
  const post = new Map();
  return { instructions, operations, others, names, blocks, blockOf, scopes, lost, post };
}

const none: readonly undefined[] = [];

/** `trap` is one: it stops the whole grid, so no thread waits for this one. */
const leaves: ReadonlySet<string> = new Set(["ret", "exit", "trap"]);

/**
 * For each block it has the next block on every path to an exit, which `blocks.length` stands for,
 * also where no exit is reached. With `leavers` false, paths of threads that exit early do not
 * count.
 */
export function postDominators(flow: Flow, leavers: boolean): Int32Array {
  const known = flow.post.get(leavers) ?? findPostDominators(flow, leavers);
  flow.post.set(leavers, known);
  return known;
}

function findPostDominators(flow: Flow, leavers: boolean): Int32Array {
  const exit = flow.blocks.length;
  const next = flow.blocks.map(({ successors, exits }) =>
    exits ? [...successors, exit] : successors,
  );
  if (!leavers) bypassExits(flow, next, exit);
  const order = towardsExit(next, exit);
  const rank = new Int32Array(exit + 1).fill(-1);
  order.forEach((block, i) => {
    rank[block] = i;
  });
  const found = new Int32Array(exit + 1).fill(-1);
  found[exit] = exit;
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of order) {
      if (block === exit) continue;
      let meet = -1;
      for (const one of next[block] ?? []) {
        if (found[one] === -1) continue;
        meet = meet === -1 ? one : meetOf(found, rank, meet, one);
      }
      if (meet !== -1 && found[block] !== meet) {
        found[block] = meet;
        changed = true;
      }
    }
  }
  return found.map((one) => (one === -1 ? exit : one));
}

/**
 * Another way must reach an exit without this branch and those before it that are bypassed, so a loop's last exit keeps
 * its edge.
 */
function bypassExits(flow: Flow, next: (readonly number[])[], exit: number): void {
  const onlyLeaves = flow.blocks.map(
    ({ first, end, successors, exits }) =>
      exits &&
      successors.length === 0 &&
      end - first <= 1 &&
      flow.instructions[first]?.predicate === undefined,
  );
  flow.blocks.forEach(({ exits, successors }, block) => {
    const others = successors.filter((one) => !onlyLeaves[one]);
    if (others.length === 0 || (!exits && others.length === successors.length)) return;
    if (reachable((one) => next[one], others, block).includes(exit)) next[block] = others;
    else if (exits) next[block] = [...successors, exit];
  });
}

function towardsExit(next: readonly (readonly number[])[], exit: number): number[] {
  const before: number[][] = Array.from({ length: exit + 1 }, () => []);
  next.forEach((all, block) => {
    for (const one of all) before[one]?.push(block);
  });
  const seen = new Uint8Array(exit + 1);
  const post: number[] = [];
  const stack: [number, number][] = [[exit, 0]];
  seen[exit] = 1;
  while (stack.length > 0) {
    const top = stack[stack.length - 1];
    if (top === undefined) break;
    const one = before[top[0]]?.[top[1]];
    top[1] += 1;
    if (one === undefined) {
      post.push(top[0]);
      stack.pop();
    } else if (!seen[one]) {
      seen[one] = 1;
      stack.push([one, 0]);
    }
  }
  return post.reverse();
}

function meetOf(found: Int32Array, rank: Int32Array, a: number, b: number): number {
  let one = a;
  let other = b;
  while (one !== other) {
    while ((rank[one] ?? 0) > (rank[other] ?? 0)) one = found[one] ?? one;
    while ((rank[other] ?? 0) > (rank[one] ?? 0)) other = found[other] ?? other;
  }
  return one;
}

/** For each block those that lead to it. */
export function entriesOf({ blocks }: Flow): readonly (readonly number[])[] {
  const entries: number[][] = blocks.map(() => []);
  blocks.forEach(({ successors }, n) => {
    for (const one of successors) entries[one]?.push(n);
  });
  return entries;
}

/** They lie between the branch at the end of `block` and its post-dominator. */
export function decidedBy(flow: Flow, post: Int32Array, block: number): readonly number[] {
  const meet = post[block] ?? flow.blocks.length;
  const next = (one: number) => flow.blocks[one]?.successors;
  return reachable(next, next(block) ?? [], meet);
}

function reachable(
  next: (block: number) => readonly number[] | undefined,
  from: readonly number[],
  without: number,
): readonly number[] {
  const seen = new Set<number>();
  const open = [...from];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (one === without || seen.has(one)) continue;
    seen.add(one);
    open.push(...(next(one) ?? []));
  }
  return [...seen];
}

export function reachableWithout(
  { blocks }: Flow,
  isLeftOut: (from: number, to: number) => boolean,
): ReadonlySet<number> {
  const found = new Set([0]);
  for (const n of found)
    for (const next of blocks[n]?.successors ?? []) if (!isLeftOut(n, next)) found.add(next);
  return found;
}

export function reachableFrom({ blocks }: Flow, from: ReadonlySet<number>): ReadonlySet<number> {
  const found = new Set(from);
  for (const n of found) for (const next of blocks[n]?.successors ?? []) found.add(next);
  return found;
}

/** They are strongly connected components; each contains every cycle through its blocks. */
export function loops(flow: Flow, within?: ReadonlySet<number>): readonly (readonly number[])[] {
  const found: number[][] = [];
  if (!flow.blocks.some(({ successors }, n) => successors.some((one) => one <= n))) return found;
  const count = flow.blocks.length;
  const index = new Int32Array(count).fill(-1);
  const low = new Int32Array(count);
  const stacked = new Uint8Array(count);
  const stack: number[] = [];
  let next = 0;
  const enter = (block: number, path: [number, number][]) => {
    index[block] = next;
    low[block] = next;
    next += 1;
    stack.push(block);
    stacked[block] = 1;
    path.push([block, 0]);
  };
  for (const root of within ?? flow.blocks.keys()) {
    if (index[root] !== -1) continue;
    const path: [number, number][] = [];
    enter(root, path);
    for (let top = path[path.length - 1]; top !== undefined; top = path[path.length - 1]) {
      const [block, step] = top;
      const one = flow.blocks[block]?.successors[step];
      top[1] += 1;
      if (one !== undefined) {
        if (within?.has(one) === false) continue;
        if (index[one] === -1) enter(one, path);
        else if (stacked[one]) low[block] = Math.min(low[block] ?? 0, index[one] ?? 0);
        continue;
      }
      path.pop();
      const above = path[path.length - 1]?.[0];
      if (above !== undefined) low[above] = Math.min(low[above] ?? 0, low[block] ?? 0);
      if (low[block] !== index[block]) continue;
      const members = stack.splice(stack.indexOf(block));
      for (const one of members) stacked[one] = 0;
      const cyclic = members.length > 1 || flow.blocks[block]?.successors.includes(block);
      if (cyclic) found.push(members);
    }
  }
  return found;
}
