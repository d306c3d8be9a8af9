import type { Instruction, Operand } from "../syntax/syntax.ts";
import { constantValue, type Definitions } from "./addresses.ts";
import { type Condition, relation, sufficient } from "./conditions.ts";
import type { Flow } from "./control-flow.ts";
import { comesBefore, Paths } from "./paths.ts";

export interface MaskOrigin {
  readonly flow: Flow;
  readonly index: number;
  readonly voted: { readonly register: string; readonly when: boolean } | undefined;
}

/** undefined means all lanes. */
export function maskOf({ operation, operands }: Instruction): Operand | undefined {
  if (operation.opcode === "bar") return operands[0];
  return /^(shfl|vote|match|redux|elect)$/.test(operation.opcode)
    ? operands[operands.length - 1]
    : undefined;
}

const DEEPEST = 8;

/**
 * A ballot, a match or `activemask` names only lanes that execute it, and gives them the same mask;
 * a constant part of it names no others. undefined if a path to the use does not pass it.
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

const ofLane = /^(mov|and|or|xor|not|shl|shr|add|sub|mul|mad|min|max|bfe|bfi|cvt|bmsk)$/;

export function isOfLane(mask: Operand | undefined, known: Definitions, depth = 0): boolean {
  if (!Number.isNaN(constantValue(mask, known))) return true;
  if (mask?.kind !== "name" || depth > DEEPEST) return false;
  if (/^%(laneid|tid\.x|lanemask_\w+)$/.test(mask.name)) return true;
  const made = known.get(mask.name);
  if (made === undefined || made.predicate !== undefined) return false;
  if (!ofLane.test(made.operation.opcode)) return false;
  return made.operands.slice(1).every((one) => isOfLane(one, known, depth + 1));
}

interface Choice {
  readonly at: number;
  readonly register: string;
  readonly when: boolean;
}

/** The predicate contradicts that of the vote, if the values are the same at both places. */
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
  // Facts are the opposite of all that would suffice for the other value.
  const facts = (register: string, when: boolean) =>
    sufficient(register, !when, known).map((one) => ({ ...one, when: !one.when }));
  const others = facts(choice.register, choice.when);
  return facts(voted.register, voted.when).some((a) =>
    others.some((b) => contradict(a, b, stays, known)),
  );
}

/** It has to be kept on each path that passes `from` last. */
function isKept(register: string, from: number, to: number, flow: Flow): boolean {
  if (isOfThread(register)) return true;
  const writers = writersOf(register, flow);
  const paths = new Paths(flow, from);
  return writers.length > 0 && writers.every((i) => !paths.pass(i, to));
}

const isOfThread = (name: string) => /^%(n?tid\.[xyz]|n?ctaid\.[xyz]|laneid)$/.test(name);

function writersOf(register: string, { names, instructions }: Flow): readonly number[] {
  const number = names.numberOf.get(register);
  return instructions.flatMap((_, i) => {
    for (let k = names.at[2 * i] ?? 0; k < (names.at[2 * i + 1] ?? 0); k += 1)
      if (names.numbers[k] === number) return [i];
    return [];
  });
}

/** Each step to the predicate is one instruction, behind which what it reads is kept. */
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

const boundOf = (value: number, type: string) => {
  const least = type.startsWith("s") ? -(2 ** 31) : 0;
  return Number.isInteger(value) && value >= least && value < 2 ** 31 ? value : undefined;
};

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

type Interval = readonly [number, number];

const everything: Interval = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];

function interval(how: string, bound: number | undefined): Interval {
  if (bound === undefined) return everything;
  if (how === "eq") return [bound, bound];
  if (how === "lt" || how === "lo") return [everything[0], bound - 1];
  if (how === "le" || how === "ls") return [everything[0], bound];
  if (how === "ge" || how === "hs") return [bound, everything[1]];
  return how === "gt" || how === "hi" ? [bound + 1, everything[1]] : everything;
}

const meet = ([low, high]: Interval, [other, last]: Interval) => low <= last && other <= high;
