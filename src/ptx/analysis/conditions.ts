import type { Instruction, Operand } from "../syntax/syntax.ts";
import { constantValue, type Definitions } from "./addresses.ts";
import type { Flow } from "./control-flow.ts";

export interface Condition {
  readonly compare: Instruction;
  readonly when: boolean;
}

const DEEPEST = 12;

export function sufficient(
  register: string,
  when: boolean,
  known: Definitions,
  depth = 0,
): readonly Condition[] {
  const made = known.get(register);
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return [];
  const { opcode, modifiers } = made.operation;
  const [, first, second, third] = made.operands;
  const follow = (operand: Operand | undefined, how: boolean) => {
    if (operand?.kind === "not") return sufficient(operand.operand.name, !how, known, depth + 1);
    return operand?.kind === "name" ? sufficient(operand.name, how, known, depth + 1) : [];
  };
  switch (opcode) {
    case "mov":
      return follow(first, when);
    case "not":
      return follow(first, !when);
    case "and":
      return when ? [] : [...follow(first, when), ...follow(second, when)];
    case "or":
      return when ? [...follow(first, when), ...follow(second, when)] : [];
    case "bar":
    case "barrier":
      return reduces(made, when) ? follow(made.operands.at(-1), when) : [];
  }
  if (opcode !== "setp" || made.operands[0]?.kind !== "name") return [];
  const joined = modifiers.find((one) => /^(and|or|xor)$/.test(one));
  if (joined === "xor" || (joined !== undefined && (joined === "or") !== when)) return [];
  const other = joined === undefined ? [] : follow(third, when);
  const flag = flagBehind(first, known);
  const asked = constantValue(second, known);
  const how = relation({ compare: made, when });
  if (flag === undefined || (asked !== 0 && asked !== 1) || (how !== "eq" && how !== "ne"))
    return [{ compare: made, when }, ...other];
  return [...sufficient(flag, (how === "eq") === (asked === 1), known, depth + 1), ...other];
}

/** The result of the reduction is `when` as soon as that of one thread is. */
const reduces = ({ operation: { modifiers } }: Instruction, when: boolean): boolean =>
  modifiers.includes("red") && modifiers.includes(when ? "or" : "and");

export interface Equivalent extends Condition {
  readonly reduction: Instruction | undefined;
}

/** It holds if and only if `register` is `when`, behind a barrier's reduction in some thread. */
export function equivalent(
  register: string,
  when: boolean,
  known: Definitions,
  depth = 0,
): Equivalent | undefined {
  const made = known.get(register);
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return undefined;
  const { opcode, modifiers } = made.operation;
  const [to, first, second] = made.operands;
  const follow = (operand: Operand | undefined, how: boolean) => {
    if (operand?.kind === "not") return equivalent(operand.operand.name, !how, known, depth + 1);
    return operand?.kind === "name" ? equivalent(operand.name, how, known, depth + 1) : undefined;
  };
  if (opcode === "mov") return follow(first, when);
  if (opcode === "not") return follow(first, !when);
  if (opcode === "bar" || opcode === "barrier") {
    const inner = reduces(made, when) ? follow(made.operands.at(-1), when) : undefined;
    return inner && (inner.reduction === undefined ? { ...inner, reduction: made } : undefined);
  }
  if (opcode !== "setp" || to?.kind !== "name") return undefined;
  if (modifiers.some((one) => /^(and|or|xor)$/.test(one))) return undefined;
  const asked = constantValue(second, known);
  const how = relation({ compare: made, when });
  const flag = flagBehind(first, known);
  if (flag === undefined || (asked !== 0 && asked !== 1) || (how !== "eq" && how !== "ne"))
    return { compare: made, when, reduction: undefined };
  return equivalent(flag, (how === "eq") === (asked === 1), known, depth + 1);
}

export interface Way {
  readonly to: number;
  readonly found: readonly Condition[];
}

export function waysOf(
  { blocks, instructions }: Flow,
  n: number,
  known: Definitions,
): readonly Way[] {
  const { end = 0, successors = [] } = blocks[n] ?? {};
  const [to, next] = successors;
  const { operation, predicate } = instructions[end - 1] ?? {};
  if (operation?.opcode !== "bra" || predicate === undefined) return [];
  if (to === undefined || next === undefined) return [];
  const { register, negated } = predicate;
  // None of the conditions holds that would have been sufficient for the other way.
  const not = (when: boolean) =>
    sufficient(register, when, known).map((one) => ({ ...one, when: !one.when }));
  return [
    { to, found: not(negated) },
    { to: next, found: not(!negated) },
  ];
}

function flagBehind(
  operand: Operand | undefined,
  known: Definitions,
  depth = 0,
): string | undefined {
  const made = operand?.kind === "name" ? known.get(operand.name) : undefined;
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return undefined;
  const [, first, second, third] = made.operands;
  const { opcode } = made.operation;
  if (opcode === "mov" || opcode === "cvt" || opcode === "prmt")
    return flagBehind(first, known, depth + 1);
  if (opcode === "and" && constantValue(second, known) % 2 !== 0)
    return flagBehind(first, known, depth + 1);
  const isFlag = constantValue(first, known) === 1 && constantValue(second, known) === 0;
  return opcode === "selp" && isFlag && third?.kind === "name" ? third.name : undefined;
}

/** It says how the operands compare: an "lt" whose result is false means "ge". */
export function relation({ compare, when }: Condition): string {
  const how = compare.operation.modifiers[0] ?? "";
  if (when) return how;
  const pair = opposites.find((both) => both.includes(how));
  return pair?.find((one) => one !== how) ?? "";
}

const opposites = [
  ["lt", "ge"],
  ["le", "gt"],
  ["lo", "hs"],
  ["ls", "hi"],
  ["eq", "ne"],
];
