import { type Affine, addressOf, constantValue, isSame } from "../analysis/addresses.ts";
import { type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { relation } from "../analysis/conditions.ts";
import { decidedBy, postDominators } from "../analysis/control-flow.ts";
import { isLoad, operandWritten } from "../analysis/memory-accesses.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Iterations } from "./induction.ts";

export function ticketTests(
  index: number,
  iterations: Iterations,
  locations: MemoryLocations,
): ReadonlySet<number> {
  const { flow } = iterations;
  const one = flow.instructions[index];
  const rises = one === undefined ? 0 : direction(one, iterations);
  if (one === undefined || rises === 0) return new Set();
  if (!isDrawnInEach(index, iterations) || isChangedElsewhere(index, iterations, locations))
    return new Set();
  const beyond = rises > 0 ? /^(ge|gt|hs|hi)$/ : /^(le|lt|ls|lo)$/;
  const before = rises > 0 ? /^(le|lt|ls|lo)$/ : /^(ge|gt|hs|hi)$/;
  const tests = new Set<number>();
  for (const leaving of iterations.leavings) {
    const [, a, b] = leaving.compare.operands;
    const how = relation(leaving);
    const isTest =
      (beyond.test(how) &&
        isDrawn(a, one, iterations, locations) &&
        iterations.stays(iterations.value(b))) ||
      (before.test(how) &&
        isDrawn(b, one, iterations, locations) &&
        iterations.stays(iterations.value(a)));
    if (isTest) tests.add(flow.instructions.indexOf(leaving.compare));
  }
  for (const other of testsBeside(tests, iterations)) tests.add(other);
  return tests;
}

/** They ask the same of the same register, but the loop ends by its own additions all the same. */
function testsBeside(tests: ReadonlySet<number>, iterations: Iterations): readonly number[] {
  const { flow, loop } = iterations;
  const asks = (one: Instruction | undefined) =>
    one?.operands.slice(1, 3).map((operand) => [...iterations.value(operand).terms.keys()]) ?? [];
  const asked = [...tests].map((i) => asks(flow.instructions[i]).map(String).sort().join());
  return flow.instructions.flatMap((one, i) => {
    if (one.operation.opcode !== "setp" || loop.blocks.has(flow.blockOf[i] ?? -1)) return [];
    return asked.includes(asks(one).map(String).sort().join()) ? [i] : [];
  });
}

/** It is 1 if each atomic increases the counter, -1 if it decreases it, 0 if that is unknown. */
function direction({ operation, operands }: Instruction, iterations: Iterations): number {
  const { opcode, modifiers } = operation;
  if (opcode !== "atom" || !/^[us](32|64)$/.test(modifiers[modifiers.length - 1] ?? "")) return 0;
  const added = constantValue(operands[2], iterations.known);
  if (modifiers.includes("inc")) return added >>> 0 === 0xffff_ffff ? 1 : 0;
  if (!modifiers.includes("add")) return 0;
  if (!Number.isNaN(added)) return Math.sign(modifiers.includes("u64") ? added : added | 0);
  const { constant, terms } = iterations.value(operands[2]);
  const sizes = [...terms].every(
    ([name, factor]) => factor > 0 && /^%n(tid|ctaid)\.[xyz]$/.test(name),
  );
  return sizes && constant >= 0 ? 1 : 0;
}

/** The condition for drawing must be loop-invariant. */
function isDrawnInEach(index: number, iterations: Iterations): boolean {
  const { flow, loop } = iterations;
  const one = flow.instructions[index];
  const block = flow.blockOf[index] ?? -1;
  if (one?.predicate !== undefined && !isSettled(one.predicate.register, iterations)) return false;
  if (iterations.inEach(block)) return true;
  const post = postDominators(flow, true);
  for (const n of loop.blocks) {
    const { successors = [], end = 0 } = flow.blocks[n] ?? {};
    if (successors.length < 2 || successors.some((to) => !loop.blocks.has(to))) continue;
    if (!decidedBy(flow, post, n).includes(block)) continue;
    const branch = flow.instructions[end - 1];
    if (branch?.predicate === undefined || !isSettled(branch.predicate.register, iterations))
      return false;
  }
  return true;
}

function isSettled(register: string, iterations: Iterations, depth = 0): boolean {
  const writers = iterations.writers(register);
  if (writers.length === 0) return true;
  const [made] = writers;
  if (made === undefined || writers.length > 1 || depth > 4 || made.predicate !== undefined)
    return false;
  if (made.operation.opcode === "elect") return true;
  if (!/^(setp|not|and|or|mov)$/.test(made.operation.opcode)) return false;
  return made.operands
    .slice(1)
    .every(
      (operand) =>
        iterations.stays(iterations.value(operand)) ||
        (operand.kind === "name" && isSettled(operand.name, iterations, depth + 1)),
    );
}

function isChangedElsewhere(
  index: number,
  { flow, loop }: Iterations,
  locations: MemoryLocations,
): boolean {
  const one = flow.instructions[index] as Instruction;
  const counter = locations.of(one, operandWritten(one));
  for (const n of loop.blocks) {
    const { first = 0, end = 0 } = flow.blocks[n] ?? {};
    for (let i = first; i < end; i += 1) {
      const other = flow.instructions[i];
      const target = i === index || other === undefined ? undefined : operandWritten(other);
      if (other === undefined || target === undefined) continue;
      const location = locations.of(other, target);
      // A plain store at an unknown address is not to the counter: it would race with the atomic.
      if (location.roots === undefined && other.operation.opcode === "st") continue;
      if (mayAlias(counter, location)) return true;
    }
  }
  return false;
}

function isDrawn(
  operand: Operand | undefined,
  update: Instruction,
  iterations: Iterations,
  locations: MemoryLocations,
  depth = 0,
): boolean {
  const result = update.operands[0];
  const value: Affine = iterations.value(operand);
  const changing = [...value.terms].filter(([name]) => iterations.writers(name).length > 0);
  const [[name, factor] = ["", 0]] = changing;
  if (changing.length !== 1 || factor <= 0 || depth > 6) return false;
  if (result?.kind === "name" && result.name === name) return true;
  const writers = iterations.writers(name);
  return (
    writers.length > 0 && writers.every((one) => handsOn(one, update, iterations, locations, depth))
  );
}

function handsOn(
  one: Instruction,
  update: Instruction,
  iterations: Iterations,
  locations: MemoryLocations,
  depth: number,
): boolean {
  const { opcode } = one.operation;
  const [, from] = one.operands;
  if (one === update) return true;
  if (opcode === "mov" || opcode === "cvt" || opcode === "shfl")
    return isDrawn(from, update, iterations, locations, depth + 1);
  if (opcode !== "ld" || from?.kind !== "memory") return false;
  const location = locations.of(one, from);
  if (location.space !== "shared" || location.offset === undefined) return false;
  const at = addressOf(from, iterations.known);
  let stored = false;
  for (const other of iterations.flow.instructions) {
    const target = operandWritten(other);
    if (target === undefined || !mayAlias(locations.of(other, target), location)) continue;
    // The loop's first number replaces values from before. Threads that have left may use the
    // memory for something else, but not while others read it: that would be a data race.
    const inside = iterations.loop.blocks.has(
      iterations.flow.blockOf[iterations.flow.instructions.indexOf(other)] ?? -1,
    );
    if (!inside) continue;
    const same = other.operation.opcode === "st" && isSame(addressOf(target, iterations.known), at);
    if (!same || !isLoadOfSameWidth(other, one)) return false;
    const value = iterations.value(other.operands[1]);
    if (
      value.terms.size === 0 ||
      !isDrawn(other.operands[1], update, iterations, locations, depth + 1)
    )
      return false;
    stored = true;
  }
  return stored;
}

const isLoadOfSameWidth = (store: Instruction, load: Instruction) =>
  isLoad(load.operation) &&
  store.operation.modifiers.at(-1)?.slice(1) === load.operation.modifiers.at(-1)?.slice(1);
