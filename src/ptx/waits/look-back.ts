// The table has an entry for each block in order, and the address read is before the block's own.
import {
  type Affine,
  addressOf,
  affine,
  BY_COLUMNS,
  constantValue,
  type Definitions,
  plus,
} from "../analysis/addresses.ts";
import { type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { relation, waysOf } from "../analysis/conditions.ts";
import { type Flow, reachableWithout } from "../analysis/control-flow.ts";
import { operandRead, operandWritten } from "../analysis/memory-accesses.ts";
import { writtenNames } from "../syntax/operation-facts.ts";
import type { Instruction } from "../syntax/syntax.ts";

/** "row" is how a GPU starts blocks; "columns" is the order of x * rows + y. */
export type LookBack = "row" | "columns";

/** Blocks that share an entry, of equal %ctaid.x, may wait for a higher one. */
export function orderOf({ names }: Flow): LookBack | undefined {
  if (names.numberOf.has("%ctaid.z")) return undefined;
  return names.numberOf.has("%ctaid.y") ? "columns" : "row";
}

/**
 * The read is an entry or more before the block's own, and all writes are to the own or behind it.
 * A register that only decreases counts as its first value.
 */
export function isLookBack(
  one: Instruction,
  flow: Flow,
  known: Definitions,
  locations: MemoryLocations,
): boolean {
  const order = orderOf(flow);
  if (order === undefined) return false;
  const number = order === "row" ? "%ctaid.x" : BY_COLUMNS;
  const read = operandRead(one);
  const exact = addressOf(read, known);
  const most = exact && atMost(exact, flow, known);
  if (most === undefined || !(stride(most, number) > 0)) return false;
  const table = locations.of(one, read);
  if (table.roots === undefined) return false;
  let own = false;
  for (const other of flow.instructions) {
    const target = operandWritten(other);
    if (target === undefined || !mayAlias(locations.of(other, target), table)) continue;
    const address = addressOf(target, known);
    const behind = address && distance(address, most, other, flow, known);
    if (behind === undefined || behind < stride(most, number)) return false;
    own = true;
  }
  return own;
}

/** It is in bytes, for a thread that is at `at`; undefined if it is not known. */
function distance(
  to: Affine,
  from: Affine,
  at: Instruction,
  flow: Flow,
  known: Definitions,
): number | undefined {
  const apart = plus(to, from, -1);
  if (apart.terms.size === 0) return apart.constant;
  const block = flow.blockOf[flow.instructions.indexOf(at)] ?? -1;
  // A branch may have shown that the block is the first.
  for (const { compare, ways } of equalities(flow, known)) {
    const [, a, b] = compare.operands;
    const zero = plus(affine(a, known), affine(b, known), -1);
    const [[name, factor] = ["", 0]] = zero.terms;
    const times = -(apart.terms.get(name) ?? 0) / factor;
    const rest = plus(apart, scale(zero, times), 1);
    if (rest.terms.size > 0 || Number.isNaN(rest.constant)) continue;
    if (
      !reachableWithout(flow, (n, next) =>
        ways.some((way) => way.from === n && way.to === next),
      ).has(block)
    )
      return rest.constant;
  }
  return undefined;
}

const scale = ({ constant, terms }: Affine, by: number): Affine => ({
  constant: constant * by,
  terms: new Map([...terms].map(([name, factor]) => [name, factor * by])),
});

interface Equality {
  readonly compare: Instruction;
  readonly ways: readonly { readonly from: number; readonly to: number }[];
}

function equalities(flow: Flow, known: Definitions): readonly Equality[] {
  return flow.blocks.flatMap((_, from) =>
    waysOf(flow, from, known).flatMap(({ to, found }) =>
      found
        .filter((one) => relation(one) === "eq")
        .map(({ compare }) => ({ compare, ways: [{ from, to }] })),
    ),
  );
}

function stride({ terms }: Affine, number: string): number {
  let bytes = Number.NaN;
  for (const [name, factor] of terms) {
    if (name === number) bytes = factor;
    else if (name.startsWith("%") || name === "?") return Number.NaN;
  }
  return bytes;
}

const isCount = (name: string) => /^%(tid\.[xyz]|laneid)$/.test(name);

export function atMost(exact: Affine, flow: Flow, known: Definitions): Affine | undefined {
  const terms = new Map<string, number>();
  let constant = exact.constant;
  const add = (name: string, factor: number) => terms.set(name, (terms.get(name) ?? 0) + factor);
  for (const [name, factor] of exact.terms) {
    const from = name.startsWith("%") ? firstValue(name, flow, known) : undefined;
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

function firstValue(register: string, flow: Flow, known: Definitions): Affine | undefined {
  const writers = flow.instructions.filter((one) => writtenNames(one).includes(register));
  const [first, ...more] = writers.filter((one) => !reduces(one, register, known));
  if (writers.length < 2 || first === undefined || more.length > 0) return undefined;
  const alone: Definitions = {
    ...known,
    get: (name) => (name === register ? first : known.get(name)),
  };
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
