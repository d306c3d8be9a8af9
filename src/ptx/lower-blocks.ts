// Does a block look at what lower blocks have written? It does where an address is at most that of an entry before its own,
// in a table with an entry for each block, in the order of %ctaid.x.
import {
  type Affine,
  addressOf,
  affine,
  constantValue,
  type Definitions,
  isSame,
} from "./addresses.ts";
import type { Flow } from "./control-flow.ts";
import { writtenNames } from "./operation-facts.ts";
import type { Instruction, Operand } from "./syntax.ts";

/**
 * Is it the entry of a lower block? Either before the table's beginning by a constant: base + k * ctaid.x - c, or a
 * whole entry or more before one that the block itself writes. What is never negative may be subtracted, and a register that
 * only goes down counts as what it begins with.
 */
export function ofLowerBlock(place: Operand | undefined, flow: Flow, known: Definitions): boolean {
  const exact = addressOf(place, known);
  if (exact !== undefined && exact.constant < 0 && isPlain(exact) && stride(exact) > 0) return true;
  const most = exact && atMost(exact, flow, known);
  if (most === undefined || !(stride(most) > 0)) return false;
  return flow.instructions.some((one) => {
    if (one.operation.opcode !== "st") return false;
    const own = addressOf(one.operands[0], known);
    if (own === undefined) return false;
    const before = own.constant - most.constant;
    return before >= stride(most) && isSame({ ...own, constant: 0 }, { ...most, constant: 0 });
  });
}

/** Bytes from a block's entry to the next one's; NaN if there is anything else in the address that blocks differ in. */
function stride({ terms }: Affine): number {
  let bytes = Number.NaN;
  for (const [name, factor] of terms) {
    if (name === "%ctaid.x") bytes = factor;
    else if (name.startsWith("%") || name === "?") return Number.NaN;
  }
  return bytes;
}

/** Nothing but the block's number is multiplied: the rest is where the table begins. */
const isPlain = ({ terms }: Affine) =>
  [...terms].every(([name, factor]) => factor === 1 || name === "%ctaid.x");

/** Never negative. */
const isCount = (name: string) => /^%(tid\.[xyz]|laneid)$/.test(name);

/** What the address is at most; undefined if that is not known. */
function atMost(exact: Affine, flow: Flow, known: Definitions): Affine | undefined {
  const terms = new Map<string, number>();
  let constant = exact.constant;
  const add = (name: string, factor: number) => terms.set(name, (terms.get(name) ?? 0) + factor);
  for (const [name, factor] of exact.terms) {
    const from = name.startsWith("%") ? beginning(name, flow, known) : undefined;
    if (from === undefined) {
      add(name, factor);
      continue;
    }
    if (!(factor > 0)) return undefined;
    constant += factor * from.constant;
    for (const [inner, times] of from.terms) add(inner, factor * times);
  }
  for (const [name, factor] of terms)
    if (factor === 0 || (factor < 0 && isCount(name))) terms.delete(name);
  return { constant, terms };
}

/** With what a register begins that is made once and then only reduced by constants. */
function beginning(register: string, flow: Flow, known: Definitions): Affine | undefined {
  const writers = flow.instructions.filter((one) => writtenNames(one).includes(register));
  const [first, ...more] = writers.filter((one) => !reduces(one, register, known));
  if (writers.length < 2 || first === undefined || more.length > 0) return undefined;
  // As if it were the register's only definition.
  const alone: Definitions = { get: (name) => (name === register ? first : known.get(name)) };
  const begins = affine({ kind: "name", name: register }, alone);
  return begins.terms.has(register) ? undefined : begins;
}

function reduces(one: Instruction, register: string, known: Definitions): boolean {
  const [, left, right] = one.operands;
  if (left?.kind !== "name" || left.name !== register) return false;
  const by = constantValue(right, known);
  const { opcode } = one.operation;
  return (opcode === "add" && by < 0) || (opcode === "sub" && by > 0);
}
