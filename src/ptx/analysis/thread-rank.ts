// Cooperative groups and CUB compute tid.x + ntid.x * (tid.y + ntid.y * tid.z) in any order. A warp
// is 32 threads of consecutive ranks (PTX ISA 9.0, 2.2.1 and 10.3), so the low five bits of the
// rank are the lane, whatever the shape of the block.

import type { Operand } from "../syntax/syntax.ts";
import { constantValue, type Definitions } from "./addresses.ts";

type Polynomial = ReadonlyMap<string, number>;

const rank: Polynomial = new Map([
  ["%tid.x", 1],
  ["%ntid.x*%tid.y", 1],
  ["%ntid.x*%ntid.y*%tid.z", 1],
]);

const DEEPEST = 12;

export function isThreadRank(operand: Operand | undefined, known: Definitions): boolean {
  const found = polynomial(operand, known, 0);
  if (found?.size !== rank.size) return false;
  return [...rank].every(([product, times]) => found.get(product) === times);
}

/** undefined for other operations than 32-bit sums and products, or for too many terms. */
function polynomial(
  operand: Operand | undefined,
  known: Definitions,
  depth: number,
): Polynomial | undefined {
  const number = constantValue(operand, known);
  if (!Number.isNaN(number)) return new Map(number === 0 ? [] : [["", number]]);
  if (operand?.kind !== "name" || depth > DEEPEST) return undefined;
  if (/^%n?tid\.[xyz]$/.test(operand.name)) return new Map([[operand.name, 1]]);
  const made = known.get(operand.name);
  if (made === undefined || made.predicate !== undefined) return undefined;
  const { opcode, modifiers } = made.operation;
  const [, first, second, third] = made.operands;
  if (!/^[bus]32$/.test(modifiers.at(-1) ?? "")) return undefined;
  const of = (one: Operand | undefined) => polynomial(one, known, depth + 1);
  if (opcode === "mov") return of(first);
  if (opcode === "add") return sum(of(first), of(second));
  if (modifiers[0] !== "lo") return undefined;
  if (opcode === "mul") return product(of(first), of(second));
  return opcode === "mad" ? sum(product(of(first), of(second)), of(third)) : undefined;
}

function sum(a: Polynomial | undefined, b: Polynomial | undefined): Polynomial | undefined {
  if (a === undefined || b === undefined) return undefined;
  const all = new Map(a);
  for (const [name, times] of b) all.set(name, (all.get(name) ?? 0) + times);
  return all.size > rank.size ? undefined : all;
}

function product(a: Polynomial | undefined, b: Polynomial | undefined): Polynomial | undefined {
  if (a === undefined || b === undefined || a.size * b.size > rank.size) return undefined;
  const all = new Map<string, number>();
  for (const [one, times] of a)
    for (const [other, more] of b) {
      const factors = [...one.split("*"), ...other.split("*")].filter((part) => part !== "");
      const name = factors.sort().join("*");
      all.set(name, (all.get(name) ?? 0) + times * more);
    }
  return all;
}
