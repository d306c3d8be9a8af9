import { constantValue, type Definitions, isFullMask, WARP_SIZE } from "../analysis/addresses.ts";
import type { Flow } from "../analysis/control-flow.ts";
import { numberRange } from "../analysis/number-range.ts";
import type { Instruction, Operand, Predicate } from "../syntax/syntax.ts";

const DEEPEST = 8;

/**
 * Does it hold for the lane that `elect.sync` takes of the block's first warp? Other warps may have such a lane, too. All
 * lanes of the warp that have not exited are there then.
 */
export function electsInFirstWarp(
  { register, negated }: Predicate,
  flow: Flow,
  known: Definitions,
): boolean {
  if (negated) return false;
  const all = conjunction(register, known);
  const elected = all?.filter((one) => one.operation.opcode === "elect") ?? [];
  return (
    elected.length === 1 &&
    all?.every((one) => one.operation.opcode === "elect" || holds(one, flow, known)) === true
  );
}

/** These instructions all have a true result. undefined: the register may be true for another reason. */
function conjunction(
  register: string,
  known: Definitions,
  depth = 0,
): readonly Instruction[] | undefined {
  const made = known.get(register);
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST) return undefined;
  const { opcode, modifiers } = made.operation;
  const [to, first, second, third] = made.operands;
  const of = (operand: Operand | undefined) =>
    operand?.kind === "name" ? conjunction(operand.name, known, depth + 1) : undefined;
  const joined = (one: readonly Instruction[] | undefined, other: typeof one) =>
    one && other && [...one, ...other];
  if (opcode === "mov") return of(first);
  if (opcode === "and") return joined(of(first), of(second));
  if (opcode === "elect") {
    const isIts = to?.kind === "pair" && to.second.kind === "name" && to.second.name === register;
    return isIts && isFullMask(constantValue(first, known)) ? [made] : undefined;
  }
  if (opcode !== "setp" || to?.kind !== "name") return undefined;
  if (modifiers.includes("and")) return joined([made], of(third));
  return modifiers.length === 2 ? [made] : undefined;
}

function holds({ operation, operands }: Instruction, flow: Flow, known: Definitions): boolean {
  const { modifiers } = operation;
  if (!/^[bus]32$/.test(modifiers.at(-1) ?? "")) return false;
  // The indices of threads in the first warp are below its size.
  const a = numberRange(operands[1], flow, known, WARP_SIZE);
  const b = numberRange(operands[2], flow, known, WARP_SIZE);
  if (a === undefined || b === undefined) return false;
  switch (modifiers[0]) {
    case "lt":
    case "lo":
      return a.most < b.least;
    case "le":
    case "ls":
      return a.most <= b.least;
    case "gt":
    case "hi":
      return a.least > b.most;
    case "ge":
    case "hs":
      return a.least >= b.most;
    case "eq":
      return a.least === a.most && b.least === b.most && a.least === b.least;
  }
  return false;
}
