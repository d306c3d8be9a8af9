// A `{ ... }` may declare a register with an outer name, which means the outer one again behind it.

import { baseName } from "../syntax/operation-facts.ts";
import { declarationIn, type Scope } from "../syntax/scopes.ts";
import type { Instruction } from "../syntax/syntax.ts";
import type { Flow } from "./control-flow.ts";
import { withNames } from "./renamed-operands.ts";

export function scopedInstructions({ instructions, scopes }: Flow): readonly Instruction[] {
  if (scopes.size === 0) return instructions;
  const numbers = new Map<Scope, number>();
  return instructions.map((one, i) => {
    const scope = scopes.get(i);
    if (scope === undefined) return one;
    const become = (name: string) => {
      const base = baseName(name);
      const owner = ownerOf(base, scope);
      if (owner === undefined) return name;
      const number = numbers.get(owner) ?? numbers.size;
      numbers.set(owner, number);
      return `${base}'${number}${name.slice(base.length)}`;
    };
    const predicate = one.predicate && {
      ...one.predicate,
      register: become(one.predicate.register),
    };
    return {
      ...one,
      predicate,
      operands: one.operands.map((operand) => withNames(operand, become)),
    };
  });
}

function ownerOf(register: string, scope: Scope): Scope | undefined {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.outer) {
    const found = declarationIn(at, register);
    if (found !== undefined) return found.variable.space === "reg" ? at : undefined;
  }
  return undefined;
}
