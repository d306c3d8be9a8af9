// A kernel fills our registers from its parameters and stores them for its device functions.

import { type CallGraph, calleeOf, instructionsOf } from "../analysis/call-graph.ts";
import { controlFlow } from "../analysis/control-flow.ts";
import {
  type Func,
  type Instruction,
  type Item,
  made,
  operation,
  type Statement,
} from "../syntax/syntax.ts";
import type { Appended } from "./appended.ts";
import { startsDependents } from "./forbidden.ts";
import { rename, rewrite } from "./rewrite.ts";
import { statements } from "./template.ts";

// The shared words are ctaid.x, .y, .z, an unused word, nctaid.x, .y, .z; preempt.ts keeps more.

interface Place {
  readonly special: string;
  readonly register: string;
  readonly offset: number;
}

const places: readonly Place[] = ["ctaid", "nctaid"].flatMap((what, i) =>
  ["x", "y", "z"].map((axis, j) => ({
    special: `%${what}.${axis}`,
    register: `%cotenant_${what}_${axis}`,
    offset: 16 * i + 4 * j,
  })),
);

export const registerOf: ReadonlyMap<string, string> = new Map(
  places.map(({ special, register }) => [special, register]),
);

export function blockNumbersIn(func: Func): ReadonlySet<string> {
  const { numberOf } = controlFlow(func).names;
  const read = places.flatMap(({ special }) => {
    const number = numberOf.get(special);
    return number === undefined ? [] : [{ special, number }];
  });
  return new Set(read.sort((a, b) => a.number - b.number).map(({ special }) => special));
}

export interface Callees {
  readonly items: readonly Item[];
  readonly names: ReadonlyMap<string, string>;
  readonly reads: ReadonlySet<string>;
}

export function callees({ functions }: CallGraph, { suffix, words }: Appended): Callees {
  const [, ...others] = functions;
  const changed = new Set(others.filter((one) => blockNumbersIn(one).size > 0));
  for (let grown = true; grown; ) {
    grown = false;
    for (const one of others) {
      if (changed.has(one)) continue;
      const called = instructionsOf(one).map(calleeOf);
      if (![...changed].some(({ name }) => called.includes(name))) continue;
      changed.add(one);
      grown = true;
    }
  }
  const names = new Map([...changed].map(({ name }) => [name, name + suffix]));
  const copies = [...changed].map((one) => copy(one, names, words));
  const declarations = copies.map((one): Func => ({ ...one, body: undefined }));
  const reads = new Set([...changed].flatMap((one) => [...blockNumbersIn(one)]));
  return { items: [...declarations, ...copies], names, reads };
}

function copy(func: Func, names: ReadonlyMap<string, string>, words: string): Func {
  const reads = blockNumbersIn(func);
  const loads = places
    .filter(({ special }) => reads.has(special))
    .map(
      ({ register, offset }) =>
        `.reg .b32 ${register}; ld.shared.u32 ${register}, [${words}+${offset}];`,
    );
  return {
    ...func,
    ...made,
    name: names.get(func.name) ?? func.name,
    body: [...statements(loads.join("\n")), ...withNames(func, names)],
  };
}

export function withNames(func: Func, names: ReadonlyMap<string, string>): readonly Statement[] {
  const all = withOurs(names);
  return rewrite(func.body ?? [], (one) => withOurNumbers(one, all));
}

/**
 * A special register can be moved to a 16-bit register: ours have 32 bits and are converted.
 * undefined for a signal that dependent grids may start: a variant gives none.
 */
export function withOurNumbers(
  one: Instruction,
  names: ReadonlyMap<string, string>,
): Instruction | undefined {
  if (startsDependents(one.operation)) return undefined;
  const ours = rename(one, names);
  const [, from] = one.operands;
  const narrow = one.operation.opcode === "mov" && one.operation.modifiers.some(is16Bits);
  if (!narrow || from?.kind !== "name" || !registerOf.has(from.name)) return ours;
  return { ...ours, ...made, operation: operation("cvt.u16.u32") };
}

const is16Bits = (modifier: string): boolean => /^[bus]16$/.test(modifier);

export const withOurs = (names: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  names.size === 0 ? registerOf : new Map([...registerOf, ...names]);

export const storesFor = (reads: ReadonlySet<string>, words: string): string =>
  places
    .filter(({ special }) => reads.has(special))
    .map(({ register, offset }) => `st.shared.u32 [${words}+${offset}], ${register};`)
    .join("\n");
