// A block that waits for a lock waits for its holder, which has been started and so releases it. A
// word that is set by a block which has not acquired it is no lock: that block may not have been
// started.
import {
  type Affine,
  addressOf,
  affine,
  constantValue,
  type Definitions,
  isOfGrid,
  isSame,
} from "../analysis/addresses.ts";
import { type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { type Condition, relation, waysOf } from "../analysis/conditions.ts";
import { reachableFrom, reachableWithout } from "../analysis/control-flow.ts";
import { operandWritten } from "../analysis/memory-accesses.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Iterations } from "./induction.ts";

export function isLock(
  index: number,
  { flow, known, loop }: Iterations,
  locations: MemoryLocations,
): boolean {
  const one = flow.instructions[index];
  if (one?.operation.opcode !== "atom") return false;
  const exchanges = one.operation.modifiers.includes("exch");
  if (!exchanges && !one.operation.modifiers.includes("cas")) return false;
  const [, location, first] = one.operands;
  const waited = constantValue(first, known);
  const lock = addressOf(location, known);
  if (Number.isNaN(waited) || lock === undefined) return false;
  const own = locations.of(one, location);
  if (own.roots === undefined) return false;
  const withoutTaking = reachableWithout(flow, (from, to) =>
    waysOf(flow, from, known).some(
      (way) => way.to === to && way.found.some((test) => hasTaken(test, one, known)),
    ),
  );
  const later = reachableFrom(flow, loop.blocks);
  let given = false;
  for (let i = 0; i < flow.instructions.length; i += 1) {
    const other = flow.instructions[i] as Instruction;
    const target = i === index ? undefined : operandWritten(other);
    if (target === undefined || !mayAlias(locations.of(other, target), own)) continue;
    const address = addressOf(target, known);
    const bytes = Math.max(own.bytes, locations.of(other, target).bytes);
    if (isBeside(address, lock, bytes)) continue;
    const value = constantValue(writtenBy(other), known);
    // An exchange acquires the lock if the old value differs from the value that it writes.
    const gives = exchanges ? value !== waited : value === waited;
    if (!Number.isNaN(value) && !gives) continue;
    const block = flow.blockOf[i] ?? -1;
    if (Number.isNaN(value) || !isSame(lock, address) || withoutTaking.has(block)) return false;
    if (later.has(block)) given = true;
  }
  return given;
}

/** Both are made of the same values and a constant, which no difference of threads makes up for. */
function isBeside(address: Affine | undefined, lock: Affine, bytes: number): boolean {
  if (address === undefined || !isSame({ ...address, constant: 0 }, { ...lock, constant: 0 }))
    return false;
  const apart = Math.abs(address.constant - lock.constant);
  const step = [...lock.terms]
    .filter(([name]) => !isOfGrid(name))
    .reduce((divisor, [, factor]) => greatestDivisor(divisor, Math.abs(factor)), 0);
  if (step === 0) return apart >= bytes;
  const rest = apart % step;
  return rest >= bytes && rest <= step - bytes;
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

export function writtenBy({
  operation: { opcode, modifiers },
  operands,
}: Instruction): Operand | undefined {
  if (opcode === "st") return operands[1];
  if (opcode !== "atom") return undefined;
  if (modifiers.includes("exch")) return operands[2];
  return modifiers.includes("cas") ? operands[3] : undefined;
}

function hasTaken(test: Condition, one: Instruction, known: Definitions): boolean {
  const [, a, b] = test.compare.operands;
  const taking = a?.kind === "name" ? known.get(origin(a.name, known)) : undefined;
  if (taking === undefined || !takesAs(taking, one, known)) return false;
  const asked = constantValue(b, known);
  const own = constantValue(one.operands[2], known);
  if (Number.isNaN(asked)) return false;
  const isOwn = asked >>> 0 === own >>> 0;
  if (!one.operation.modifiers.includes("exch")) return isOwn && relation(test) === "eq";
  return relation(test) === (isOwn ? "ne" : "eq");
}

function origin(name: string, known: Definitions): string {
  const [[root, factor] = [name, 1], ...more] = affine({ kind: "name", name }, known).terms;
  return factor === 1 && more.length === 0 ? root : name;
}

const takesAs = (one: Instruction, other: Instruction, known: Definitions) =>
  one === other ||
  (one.operation === other.operation &&
    isSame(addressOf(one.operands[1], known), addressOf(other.operands[1], known)) &&
    constantValue(one.operands[2], known) === constantValue(other.operands[2], known));
