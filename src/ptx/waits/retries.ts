import { addressOf, constantValue, isSame } from "../analysis/addresses.ts";
import { type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { relation } from "../analysis/conditions.ts";
import { leadsTo } from "../analysis/loop-nests.ts";
import { operandWritten } from "../analysis/memory-accesses.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Iterations, Leaving } from "./induction.ts";

const isUpdate = (one: Instruction | undefined, how: string): one is Instruction =>
  one?.operation.opcode === "atom" && one.operation.modifiers.includes(how);

const updates = ({ flow, loop }: Iterations, how: string): readonly number[] =>
  [...loop.blocks].flatMap((n) => {
    const { first = 0, end = 0 } = flow.blocks[n] ?? {};
    const found: number[] = [];
    for (let i = first; i < end; i += 1) if (isUpdate(flow.instructions[i], how)) found.push(i);
    return found;
  });

const isName = (operand: Operand | undefined, iterations: Iterations, other: Operand | undefined) =>
  isSame(iterations.value(operand), iterations.value(other));

/** A compare-and-swap fails only if another thread's has succeeded: together they make progress. */
export function retries(iterations: Iterations): boolean {
  return updates(iterations, "cas").some((i) => {
    const one = iterations.flow.instructions[i] as Instruction;
    if (one.predicate !== undefined || !iterations.inEach(iterations.flow.blockOf[i] ?? -1))
      return false;
    const [result, , compared] = one.operands;
    if (!isFreshFrom(compared, one, iterations)) return false;
    return iterations.leavings.some((leaving) => endsOn(leaving, result, compared, iterations));
  });
}

function endsOn(
  leaving: Leaving,
  result: Operand | undefined,
  compared: Operand | undefined,
  iterations: Iterations,
): boolean {
  if (relation(leaving) !== "eq") return false;
  const [, a, b] = leaving.compare.operands;
  return (
    (isName(a, iterations, result) && isName(b, iterations, compared)) ||
    (isName(b, iterations, result) && isName(a, iterations, compared))
  );
}

function isFreshFrom(
  compared: Operand | undefined,
  update: Instruction,
  iterations: Iterations,
  depth = 0,
): boolean {
  const value = iterations.value(compared);
  const [[name, factor] = ["", 0]] = value.terms;
  if (value.constant !== 0 || value.terms.size !== 1 || factor !== 1 || depth > 4) return false;
  const [result, location] = update.operands;
  const writers = iterations.writers(name);
  return (
    writers.length > 0 &&
    writers.every((one) => {
      if (one === update) return true;
      const [, from] = one.operands;
      if (one.operation.opcode === "ld")
        return isSame(addressOf(from, iterations.known), addressOf(location, iterations.known));
      if (one.operation.opcode !== "mov") return false;
      return isName(from, iterations, result) || isFreshFrom(from, update, iterations, depth + 1);
    })
  );
}

/**
 * A slot is claimed by a compare-and-swap against the mark of free slots, and never changes then.
 * No thread waits for it: a free one is claimed, and the loop exits.
 */
export function takesOnce(
  index: number,
  iterations: Iterations,
  locations: MemoryLocations,
): boolean {
  const { flow, loop, known } = iterations;
  const one = flow.instructions[index];
  if (!isUpdate(one, "cas")) return false;
  const [result, , free] = one.operands;
  const mark = iterations.value(free);
  if ([...mark.terms.keys()].some((name) => name.startsWith("%") || name === "?")) return false;
  const own = locations.of(one, operandWritten(one));
  const all = flow.instructions.every((other) => {
    const target = operandWritten(other);
    if (target === undefined || !mayAlias(locations.of(other, target), own)) return true;
    return isUpdate(other, "cas") && isSame(iterations.value(other.operands[2]), mark);
  });
  if (!all || own.roots === undefined) return false;
  const block = flow.blockOf[index] ?? -1;
  const isMark = (operand: Operand | undefined) =>
    isSame(iterations.value(operand), mark) ||
    constantValue(operand, known) >>> 0 === constantValue(free, known) >>> 0;
  return iterations.ways.some((leaving) => {
    const [, a, b] = leaving.compare.operands;
    if (relation(leaving) !== "eq") return false;
    if (leaving.block !== block && leadsTo(flow, loop.blocks, block, loop.head, leaving.block))
      return false;
    return (
      (isName(a, iterations, result) && isMark(b)) || (isName(b, iterations, result) && isMark(a))
    );
  });
}
