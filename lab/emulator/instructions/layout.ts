// The layout of variables: offsets by alignment, in the order of declaration.
import type { Declaration, Declarator, Func, Module, Variable } from "#ptx";
import { FUNCTION_WINDOW } from "../machine/memory.ts";
import { bytesOf, parseInteger } from "../numbers/types.ts";

export interface Placement {
  /** The total size, and the largest alignment. */
  readonly bytes: number;
  readonly align: number;
  readonly placed: readonly Placed[];
  add(variable: Variable): void;
  offsetOf(declarator: Declarator): number;
}

interface Placed {
  readonly declarator: Declarator;
  readonly variable: Variable;
  readonly offset: number;
  readonly bytes: number;
}

/** Bytes of a variable; 0 for one of open length. */
export function byteSize({ variable, declarator }: Declaration): number {
  const count = declarator.dims.reduce(
    (product, dim) => product * Number(dim === "" ? 0 : (parseInteger(dim.trim()) ?? 0)),
    1,
  );
  return bytesOf(variable.type) * variable.vector * count;
}

/**
 * Variables of open length (`extern .shared .b8 raw[]`) all begin behind the others. Their offset is known when all
 * others are placed.
 */
export function placeVariables(variables: readonly Variable[]): Placement {
  let bytes = 0;
  let align = 1;
  const placed: Placed[] = [];
  const offsets = new Map<Declarator, number>();
  const open = new Set<Declarator>();
  const roundUp = (value: number, to: number) => Math.ceil(value / to) * to;
  const placement: Placement = {
    get bytes() {
      return bytes;
    },
    get align() {
      return align;
    },
    placed,
    add(variable) {
      for (const declarator of variable.names) {
        if (offsets.has(declarator) || open.has(declarator)) continue;
        const size = byteSize({ variable, declarator });
        const wanted = variable.align ?? bytesOf(variable.type) * variable.vector;
        align = Math.max(align, wanted);
        if (size === 0) {
          open.add(declarator);
          continue;
        }
        const offset = roundUp(bytes, wanted);
        offsets.set(declarator, offset);
        placed.push({ declarator, variable, offset, bytes: size });
        bytes = offset + size;
      }
    },
    offsetOf(declarator) {
      return offsets.get(declarator) ?? roundUp(bytes, align);
    },
  };
  for (const variable of variables) placement.add(variable);
  return placement;
}

/**
 * There is no memory at the addresses of functions. The lower word is 16 times the function's number among the module's
 * items, from 1.
 */
export const functionAddress = (module: Module, func: Func): bigint =>
  (BigInt(FUNCTION_WINDOW) << 32n) + BigInt(16 * (module.items.indexOf(func) + 1));
