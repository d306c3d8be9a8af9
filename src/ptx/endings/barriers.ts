// In a preemptible kernel a thread that returns early is parked until the other threads of its
// block are done. A barrier without a thread count waits for all threads that have not exited, so
// parked threads arrive at it too (unify-sync.ts). A warp-wide operation waits for the lanes in its
// mask: a kernel in which a parked lane may be in the mask is refused.

import { constantValue, type Definitions, definitions, WARP_SIZE } from "../analysis/addresses.ts";
import { type CallGraph, hasOperation } from "../analysis/call-graph.ts";
import { decidedBy, type Flow, postDominators } from "../analysis/control-flow.ts";
import { maxThreads, numberRange } from "../analysis/number-range.ts";
import { isCollective, parkedLanes } from "../analysis/parked-lanes.ts";
import type { Refuse } from "../analysis/reasons.ts";
import type { Sameness } from "../analysis/sameness.ts";
import { type Uniformity, uniformity } from "../analysis/uniformity.ts";
import type { Func, Instruction, Operation } from "../syntax/syntax.ts";

/** PTX ISA 9.0, 9.7.13, has this number for a block. */
const BARRIERS = 16;

export interface Barriers {
  readonly free: number;
  readonly unify: boolean;
  readonly arrivals?: Arrivals | undefined;
}

/**
 * Warps arrive at some barriers without waiting. What is left over when a block ends follows from how many warps have
 * come to each.
 */
export interface Arrivals {
  /** It has the number of warps that each of these barriers waits for. */
  readonly warps: ReadonlyMap<number, number>;
  /** Warps are counted at the instructions with these places in the source, and their barriers are among these. */
  readonly at: ReadonlySet<number>;
  readonly first: number;
  readonly last: number;
}

export function barriers(
  kernel: Func,
  graph: CallGraph,
  wholeWarps: boolean,
  refuse: Refuse,
): Barriers {
  const [, ...callees] = graph.functions;
  const meets =
    hasOperation(kernel, (one) => isBarrier(one) || isCollective(one)) ||
    callees.some((one) => hasOperation(one, isCollective));
  if (!meets) return { free: 0, unify: false };
  const found = uniformity(kernel, wholeWarps);
  const used = blockBarriers(found, maxThreads(kernel), wholeWarps, refuse);
  parkedLanes(found, graph, refuse);
  return used;
}

function blockBarriers(
  found: Uniformity,
  threads: number,
  wholeWarps: boolean,
  refuse: Refuse,
): Barriers {
  const { flow } = found;
  const all = flow.instructions.flatMap((one, i) => (isBarrier(one.operation) ? [{ one, i }] : []));
  const [first] = all;
  if (first === undefined) return { free: 0, unify: false };
  const apart = partedInstructions(found, (how) => how !== "block" && how !== "aligned");
  const unify = all.some(({ one, i }) => !hasCount(one) && apart(i));
  const counted = new Set<number>();
  const whole = new Set<number>();
  const known = definitions(flow);
  const idsOf = (one: Instruction) => barrierIds(one, flow, known, threads);
  for (const { one } of all) {
    const ids = idsOf(one);
    if (ids.length === BARRIERS)
      refuse("barrier-ids", one, `which barrier ${one.operation.text} means is not known`);
    else for (const id of ids) (hasCount(one) ? counted : whole).add(id);
    if (unify && !hasCount(one) && one.operation.modifiers.includes("red"))
      refuse("parked-barrier", one, `${one.operation.text} is reached by a part of the threads`);
  }
  const shared = all.find(({ one }) => hasCount(one) && idsOf(one).some((id) => whole.has(id)));
  if (unify && shared !== undefined)
    refuse("parked-barrier", shared.one, "a barrier is used with a count and without one");
  const arrivals = arrivalsAt(found, all, idsOf, wholeWarps, refuse);
  let free = 0;
  while (counted.has(free) || whole.has(free)) free += 1;
  if (free < BARRIERS) return { free, unify, arrivals };
  refuse("barrier-ids", first.one, `all ${BARRIERS} barriers are in use`);
  return { free: 0, unify };
}

interface At {
  readonly one: Instruction;
  readonly i: number;
}

const arrives = ({ operation }: Instruction) => operation.modifiers.includes("arrive");

/** Hardware counts warps at an aligned barrier, so whole warps must come to those that are counted here. */
function arrivalsAt(
  found: Uniformity,
  all: readonly At[],
  idsOf: (one: Instruction) => readonly number[],
  wholeWarps: boolean,
  refuse: Refuse,
): Arrivals | undefined {
  const left = new Set(all.filter(({ one }) => arrives(one)).flatMap(({ one }) => idsOf(one)));
  if (left.size === 0) return undefined;
  const known = definitions(found.flow);
  const parts = partedInstructions(found, (how) => how === "lanes" || how === "varying");
  const counted = all.filter(({ one }) => idsOf(one).some((id) => left.has(id)));
  const warps = new Map<number, number>();
  for (const { one, i } of counted) {
    const threads = hasCount(one) ? constantValue(one.operands[1], known) : Number.NaN;
    const ids = idsOf(one).filter((id) => left.has(id));
    const isClear =
      wholeWarps &&
      isAligned(one.operation) &&
      !one.operation.modifiers.includes("red") &&
      threads > 0 &&
      threads % WARP_SIZE === 0 &&
      ids.every((id) => (warps.get(id) ?? threads / WARP_SIZE) === threads / WARP_SIZE) &&
      !parts(i);
    for (const id of ids) warps.set(id, threads / WARP_SIZE);
    if (!isClear)
      refuse("barrier-arrive", one, `${one.operation.text} may be left over when a block ends`);
  }
  const ids = counted.flatMap(({ one }) => idsOf(one));
  const at = new Set(counted.map(({ one }) => one.at));
  return { warps, at, first: Math.min(...ids), last: Math.max(...ids) };
}

const isAligned = ({ opcode, modifiers }: Operation) =>
  opcode === "bar" || modifiers.includes("aligned");

function partedInstructions(
  found: Uniformity,
  counts: (how: Sameness) => boolean,
): (instruction: number) => boolean {
  const { flow, parting } = found;
  const post = postDominators(flow, true);
  const apart = new Set<number>();
  flow.blocks.forEach((block, n) => {
    const ways = block.successors.length + (block.exits ? 1 : 0);
    if (ways < 2 || !counts(parting[n] ?? "varying")) return;
    for (const one of decidedBy(flow, post, n)) apart.add(one);
  });
  return (i) => {
    const predicate = flow.instructions[i]?.predicate;
    if (predicate !== undefined && counts(found.of(predicate.register))) return true;
    return apart.has(flow.blockOf[i] ?? -1);
  };
}

export function isBarrier({ opcode, modifiers }: Operation): boolean {
  if (opcode === "bar") return modifiers[0] !== "warp";
  return opcode === "barrier" && modifiers[0] !== "cluster";
}

/** Its operands are [result,] id [, count] [, value to reduce]. */
export function hasCount(one: Instruction): boolean {
  const reduces = one.operation.modifiers.includes("red");
  return one.operands.length > (reduces ? 3 : 1);
}

function barrierIds(
  one: Instruction,
  flow: Flow,
  known: Definitions,
  threads: number,
): readonly number[] {
  const operand = one.operands[one.operation.modifiers.includes("red") ? 1 : 0];
  const { least, most } = numberRange(operand, flow, known, threads) ?? {
    least: 0,
    most: BARRIERS,
  };
  return Array.from({ length: BARRIERS }, (_, id) => id).filter((id) => id >= least && id <= most);
}
