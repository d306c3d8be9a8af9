// Marks recursive functions, whose registers have to be saved at a call.

import { type Func, findFunction, type Scope } from "#ptx";
import type { Routine } from "../instructions/site.ts";
import type { Compiled } from "./compilation.ts";

/** An indirect call may reach any function whose address is taken. */
export function markRecursion(
  routines: readonly Routine[],
  code: readonly Compiled[],
  outer: Scope,
): void {
  const calls = new Map<Func, Set<Func>>();
  for (const { instruction, routine } of code) {
    if (instruction.operation.opcode !== "call") continue;
    const callee = instruction.operands.find((one) => one.kind === "name");
    const func = callee === undefined ? undefined : findFunction(outer, callee.name);
    const known = calls.get(routine.func) ?? new Set<Func>();
    if (func !== undefined) known.add(func);
    else for (const one of routines) if (!one.func.entry) known.add(one.func);
    calls.set(routine.func, known);
  }
  for (const routine of routines) {
    const seen = new Set<Func>();
    const open = [...(calls.get(routine.func) ?? [])];
    for (let func = open.pop(); func !== undefined; func = open.pop()) {
      if (seen.has(func)) continue;
      seen.add(func);
      open.push(...(calls.get(func) ?? []));
    }
    routine.recursive = seen.has(routine.func);
  }
}
