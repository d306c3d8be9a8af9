// Where the mask of a warp-wide operation comes from, and what is known of its lanes.

import type { Instruction, Operand } from "../syntax/syntax.ts";
import { constantValue, type Definitions } from "./addresses.ts";
import { type Condition, relation, sufficient } from "./conditions.ts";
import type { Flow } from "./control-flow.ts";
import { comesBefore, Paths } from "./paths.ts";

/** An instruction that made a mask: the lanes in the mask were there, with a predicate of the same value. */
export interface MaskOrigin {
  readonly flow: Flow;
  readonly index: number;
  /** The predicate that all lanes of the mask had; undefined: nothing is known of them. */
  readonly voted: { readonly register: string; readonly when: boolean } | undefined;
}

/** The operand with the lane mask; undefined: all lanes. */
export function maskOf({ operation, operands }: Instruction): Operand | undefined {
  if (operation.opcode === "bar") return operands[0];
  return /^(shfl|vote|match|redux|elect)$/.test(operation.opcode)
    ? operands[operands.length - 1]
    : undefined;
}

/** How many instructions a mask is followed back. */
const DEEPEST = 8;

/**
 * The instruction that made the mask: a ballot, a match or `activemask`, all of which name only lanes that execute
 * them, and give these lanes the same mask. A constant part of theirs, made by `and`, names no other lanes. Undefined if
 * there is none, or if a path to the use does not pass it.
 */
export function originOf(
  mask: Operand | undefined,
  use: number,
  flow: Flow,
  known: Definitions,
  depth = 0,
): MaskOrigin | undefined {
  const made = mask?.kind === "name" ? known.get(mask.name) : undefined;
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return undefined;
  const index = flow.instructions.indexOf(made);
  if (!comesBefore(flow, index, use)) return undefined;
  const { opcode, modifiers } = made.operation;
  const [, first, second] = made.operands;
  const of = (part: Operand | undefined) => originOf(part, index, flow, known, depth + 1);
  if (opcode === "mov") return of(first);
  if (opcode === "and") {
    if (!Number.isNaN(constantValue(second, known))) return of(first);
    return Number.isNaN(constantValue(first, known)) ? undefined : of(second);
  }
  if (opcode === "activemask" || (opcode === "match" && modifiers[0] === "any"))
    return { flow, index, voted: undefined };
  if (opcode !== "vote" || !modifiers.includes("ballot") || !modifiers.includes("sync"))
    return undefined;
  if (first?.kind === "name") return { flow, index, voted: { register: first.name, when: true } };
  if (first?.kind === "not")
    return { flow, index, voted: { register: first.operand.name, when: false } };
  return { flow, index, voted: undefined };
}

/** Operations that compute the mask of a group of lanes from the lane's number. */
const ofLane = /^(mov|and|or|xor|not|shl|shr|add|sub|mul|mad|min|max|bfe|bfi|cvt|bmsk)$/;

/** Is the mask computed from constants and the number of the lane or thread alone, as for groups of neighbours? */
export function isOfLane(mask: Operand | undefined, known: Definitions, depth = 0): boolean {
  if (!Number.isNaN(constantValue(mask, known))) return true;
  if (mask?.kind !== "name" || depth > DEEPEST) return false;
  if (/^%(laneid|tid\.x|lanemask_\w+)$/.test(mask.name)) return true;
  const made = known.get(mask.name);
  if (made === undefined || made.predicate !== undefined) return false;
  if (!ofLane.test(made.operation.opcode)) return false;
  return made.operands.slice(1).every((one) => isOfLane(one, known, depth + 1));
}

/** A thread's behaviour at the instruction `at` if a predicate has this value. */
interface Choice {
  readonly at: number;
  readonly register: string;
  readonly when: boolean;
}

/**
 * Does no lane of the mask make this choice, because its predicate contradicts the one of the vote? The compared
 * values must be the same at both places.
 */
export function neverTakes(
  { flow, index, voted }: MaskOrigin,
  choice: Choice,
  known: Definitions,
): boolean {
  if (voted === undefined) return false;
  const stays = (register: string) => isKept(register, index, choice.at, flow);
  if (voted.register === choice.register)
    return voted.when !== choice.when && stays(voted.register);
  if (!isLatest(voted.register, index, flow, known)) return false;
  if (!isLatest(choice.register, choice.at, flow, known)) return false;
  // Facts that hold if a predicate has a value: the opposite of all that would suffice for the other value.
  const facts = (register: string, when: boolean) =>
    sufficient(register, !when, known).map((one) => ({ ...one, when: !one.when }));
  const others = facts(choice.register, choice.when);
  return facts(voted.register, voted.when).some((a) =>
    others.some((b) => contradict(a, b, stays, known)),
  );
}

/** Does the register keep its value from the instruction `from` until `to`, on each path that passes `from` last? */
function isKept(register: string, from: number, to: number, flow: Flow): boolean {
  if (isOfThread(register)) return true;
  const writers = writersOf(register, flow);
  const paths = new Paths(flow, from);
  return writers.length > 0 && writers.every((i) => !paths.pass(i, to));
}

/** The same as long as the thread lives. */
const isOfThread = (name: string) => /^%(n?tid\.[xyz]|n?ctaid\.[xyz]|laneid)$/.test(name);

function writersOf(register: string, { names, instructions }: Flow): readonly number[] {
  const number = names.numberOf.get(register);
  return instructions.flatMap((_, i) => {
    for (let k = names.at[2 * i] ?? 0; k < (names.at[2 * i + 1] ?? 0); k += 1)
      if (names.numbers[k] === number) return [i];
    return [];
  });
}

/**
 * Was the predicate computed from what the compared registers hold at `use`? Each step from a comparison to the
 * predicate must be made by one instruction, behind which what it reads is kept until `use`.
 */
function isLatest(
  predicate: string,
  use: number,
  flow: Flow,
  known: Definitions,
  depth = 0,
): boolean {
  const made = known.get(predicate);
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return false;
  const at = flow.instructions.indexOf(made);
  const compares = made.operation.opcode === "setp";
  return made.operands.slice(1).every((operand, k) => {
    const name = operand.kind === "not" ? operand.operand.name : nameOf(operand);
    if (name === undefined || name === "WARP_SZ") return true;
    if (!isKept(name, at, use, flow)) return false;
    return (compares && k < 2) || isLatest(name, use, flow, known, depth + 1);
  });
}

const nameOf = (operand: Operand | undefined) =>
  operand?.kind === "name" ? operand.name : undefined;

/** Can both comparisons not hold at the same time? */
function contradict(
  a: Condition,
  b: Condition,
  stays: (register: string) => boolean,
  known: Definitions,
): boolean {
  const type = a.compare.operation.modifiers.at(-1) ?? "";
  if (type !== b.compare.operation.modifiers.at(-1) || !/^[usb](32|64)$/.test(type)) return false;
  const [, left, right] = a.compare.operands;
  const [, otherLeft, otherRight] = b.compare.operands;
  const name = nameOf(left);
  if (name === undefined || name !== nameOf(otherLeft) || !stays(name)) return false;
  const [how, other] = [relation(a), relation(b)];
  const bound = nameOf(right);
  if (bound !== undefined && bound === nameOf(otherRight))
    return stays(bound) && (excluded[how]?.includes(other) ?? false);
  const bounds = [right, otherRight].map((one) => boundOf(constantValue(one, known), type));
  return !meet(interval(how, bounds[0]), interval(other, bounds[1]));
}

/** The number as the comparison takes it; undefined for one that it takes for another. */
const boundOf = (value: number, type: string) => {
  const least = type.startsWith("s") ? -(2 ** 31) : 0;
  return Number.isInteger(value) && value >= least && value < 2 ** 31 ? value : undefined;
};

/** Relations of the same two values that can't both hold. */
const excluded: Readonly<Record<string, readonly string[]>> = {
  eq: ["ne", "lt", "gt", "lo", "hi"],
  ne: ["eq"],
  lt: ["ge", "gt", "eq"],
  ge: ["lt"],
  le: ["gt"],
  gt: ["le", "lt", "eq"],
  lo: ["hs", "hi", "eq"],
  hs: ["lo"],
  ls: ["hi"],
  hi: ["ls", "lo", "eq"],
};

/** Whole numbers from the first to the last. */
type Interval = readonly [number, number];

const everything: Interval = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

/** The values for which the relation to the bound holds; everything if that is no interval. */
function interval(how: string, bound: number | undefined): Interval {
  if (bound === undefined) return everything;
  if (how === "eq") return [bound, bound];
  if (how === "lt" || how === "lo") return [everything[0], bound - 1];
  if (how === "le" || how === "ls") return [everything[0], bound];
  if (how === "ge" || how === "hs") return [bound, everything[1]];
  return how === "gt" || how === "hi" ? [bound + 1, everything[1]] : everything;
}

const meet = ([low, high]: Interval, [other, last]: Interval) => low <= last && other <= high;
