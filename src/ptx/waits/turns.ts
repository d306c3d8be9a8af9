// Turns: blocks that add to the same tile one after the other. Each waits until a word is its own number, %ctaid.z (plus
// a constant), and then writes the next one. The last may write the first number again, for the next launch.
//
// Why no block waits for a higher one. Blocks start in rising order, and z is the slowest. Blocks of different x or y must
// have different words (`decodes`), the loop must be left if the word is the block's number, the word must decide about
// nothing else, and only one instruction may write to the table, once in a thread. Let B be the lowest unfinished block.
//
// - If z is not 0, the only block that writes B's number is the one before it at this word, and it has ended. No lower
//   block writes after it. If the word is not B's number then, the kernel as written waits there for ever, too.
// - If z is 0 and some block writes the first number, three more things must hold. (1) A block writes only when a thread
//   of it has seen its number and all its threads have left the loop. (2) It never comes to the loop again. (3) The word
//   is the first number when the kernel starts. Then no block writes before B, which does not wait.
//
// (3) is assumed: with a later number at first, a later block would have to run while the lower ones wait, and such a
// program hangs as soon as its grid does not fit on the GPU. Numbers and their products are assumed not to overflow.
import {
  type Affine,
  addressOf,
  affine,
  type Definitions,
  isSame,
  plus,
} from "../analysis/addresses.ts";
import { type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { equivalent, relation } from "../analysis/conditions.ts";
import { type Flow, reachableFrom, reachableWithout } from "../analysis/control-flow.ts";
import { operandWritten } from "../analysis/memory-accesses.ts";
import { hasCount } from "../endings/barriers.ts";
import { writtenNames } from "../syntax/operation-facts.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import { decodes } from "./decoding.ts";
import { factsAt } from "./facts.ts";
import type { Iterations } from "./induction.ts";
import { writtenBy } from "./locks.ts";

const NUMBER = "%ctaid.z";

export function turnTests(
  index: number,
  iterations: Iterations,
  locations: MemoryLocations,
): ReadonlySet<number> {
  const none: ReadonlySet<number> = new Set();
  const { flow, known } = iterations;
  const read = flow.instructions[index];
  if (read?.operation.opcode !== "ld" || !flow.names.numberOf.has(NUMBER)) return none;
  const word = addressOf(read.operands[1], known);
  const table = locations.of(read, read.operands[1]);
  if (word === undefined || table.roots === undefined) return none;
  const tests = iterations.leavings.flatMap((leaving) => {
    const first =
      relation(leaving) === "eq" ? firstNumber(leaving.compare, read, iterations) : undefined;
    return first === undefined ? [] : [{ ...leaving, first }];
  });
  const [{ first } = { first: undefined }, ...more] = tests;
  if (first === undefined || more.some((one) => one.first !== first)) return none;
  const [write, ...others] = [...flow.instructions.keys()].filter((i) => {
    const other = flow.instructions[i] as Instruction;
    const target = operandWritten(other);
    return target !== undefined && mayAlias(locations.of(other, target), table);
  });
  if (write === undefined || others.length > 0) return none;
  const writer = flow.instructions[write] as Instruction;
  if (!isSame(addressOf(operandWritten(writer), known), word) || comesAgain(write, flow))
    return none;
  const places = [iterations.loop.head, flow.blockOf[write] ?? -1];
  if (!decodes(word, ["%ctaid.x", "%ctaid.y"], places, flow, known)) return none;
  let startsAgain = false;
  for (const value of valuesOf(writtenBy(writer), flow, iterations)) {
    const isFirst = value.terms.size === 0 && value.constant === first;
    const isNext =
      value.terms.size === 1 && value.terms.get(NUMBER) === 1 && value.constant === first + 1;
    if (!isFirst && !isNext) return none;
    startsAgain ||= isFirst;
  }
  const tested = new Set(tests.map(({ block }) => block));
  if (startsAgain && !isFirstInTurn(write, iterations, tested)) return none;
  return new Set(tests.map(({ compare }) => flow.instructions.indexOf(compare)));
}

/** c, if the comparison asks whether the value read last is %ctaid.z + c. */
function firstNumber(
  compare: Instruction,
  read: Instruction,
  iterations: Iterations,
): number | undefined {
  const [, a, b] = compare.operands;
  const apart = plus(iterations.value(a), iterations.value(b), -1);
  const number = apart.terms.get(NUMBER);
  const [value, ...others] = [...apart.terms.keys()].filter((name) => name !== NUMBER);
  if (number === undefined || value === undefined || others.length > 0) return undefined;
  if (Math.abs(number) !== 1 || apart.terms.get(value) !== -number) return undefined;
  const writers = iterations.writers(value);
  const isRead = (one: Instruction) =>
    one.operation === read.operation &&
    isSame(
      addressOf(one.operands[1], iterations.known),
      addressOf(read.operands[1], iterations.known),
    );
  if (!writers.includes(read) || !writers.every(isRead)) return undefined;
  return apart.constant * number;
}

const comesAgain = (i: number, flow: Flow): boolean => behind(i, flow).has(flow.blockOf[i] ?? -1);

const behind = (i: number, flow: Flow): ReadonlySet<number> =>
  reachableFrom(flow, new Set(flow.blocks[flow.blockOf[i] ?? -1]?.successors));

const UNKNOWN: Affine = { constant: 0, terms: new Map([["?", 1]]) };

const DEEPEST = 8;

function valuesOf(
  operand: Operand | undefined,
  flow: Flow,
  iterations: Iterations,
  depth = 0,
): readonly Affine[] {
  const value = affine(operand, iterations.known);
  const [[name, factor] = ["", 0]] = value.terms;
  if (operand === undefined || depth > DEEPEST) return [UNKNOWN];
  if (value.terms.size !== 1 || factor !== 1 || value.constant !== 0) return [value];
  const writers = flow.instructions.filter((one) => writtenNames(one).includes(name));
  return writers.length === 0
    ? [value]
    : writers.flatMap(({ operation, operands: [, first, second] }) => {
        const both = operation.opcode === "selp" ? [first, second] : [];
        if (both.length === 0 && writers.length > 1 && operation.opcode === "mov") both.push(first);
        return both.length === 0
          ? [value]
          : both.flatMap((one) => valuesOf(one, flow, iterations, depth + 1));
      });
}

/** The block of z = 0 has to find the first number (see above). `tested`: blocks with the tests. */
function isFirstInTurn(
  write: number,
  { flow, loop, known }: Iterations,
  tested: ReadonlySet<number>,
): boolean {
  for (const n of loop.blocks) {
    const { successors = [], exits = false } = flow.blocks[n] ?? {};
    const leaves = exits || successors.some((to) => !loop.blocks.has(to));
    if (leaves && !(tested.has(n) && leaveTogether(n, flow, known))) return false;
  }
  const n = flow.blockOf[write] ?? -1;
  const later = behind(write, flow);
  if (loop.blocks.has(n) || [...loop.blocks].some((one) => later.has(one))) return false;
  if (loop.head === 0) return true;
  const facts = factsAt(n, flow, known);
  const around = (from: number, to: number) => to === loop.head || facts.exclude(from, to);
  return !reachableWithout(flow, around).has(n);
}

/**
 * The branch depends on the reduction of the kernel's only such barrier, which is not mixed with
 * others (PTX ISA 9.0, 9.7.13.1): all threads that have not exited are there in each round.
 */
function leaveTogether(n: number, flow: Flow, known: Definitions): boolean {
  const register = flow.instructions[(flow.blocks[n]?.end ?? 0) - 1]?.predicate?.register ?? "";
  const isReduction = ({ operation: { opcode, modifiers } }: Instruction) =>
    (opcode === "bar" || opcode === "barrier") && modifiers.includes("red");
  const [only, ...more] = flow.instructions.filter(isReduction);
  return (
    only !== undefined &&
    more.length === 0 &&
    only.predicate === undefined &&
    !hasCount(only) &&
    [true, false].some((when) => equivalent(register, when, known)?.reduction === only)
  );
}
