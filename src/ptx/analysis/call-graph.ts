// The functions that a kernel may call, directly or not, and the calls whose target is not known.

import { moduleScope } from "../syntax/scopes.ts";
import type { Func, Instruction, Module, Operation, Statement } from "../syntax/syntax.ts";
import { controlFlow } from "./control-flow.ts";

export interface CallGraph {
  /** Functions with a body, in the order of their first call; the kernel is first. */
  readonly functions: readonly Func[];
  /** Calls of functions that have no body in the module. */
  readonly outside: readonly { readonly call: Instruction; readonly callee: string }[];
  /** Calls through a register. */
  readonly indirect: readonly Instruction[];
}

export function callGraph(kernel: Func, module: Module): CallGraph {
  const scope = moduleScope(module);
  const functions = [kernel];
  const outside: { call: Instruction; callee: string }[] = [];
  const indirect: Instruction[] = [];
  for (const func of functions) {
    for (const call of callsIn(func)) {
      const callee = calleeOf(call);
      const found = callee === undefined ? undefined : scope.functions.get(callee);
      if (callee === undefined || callee.startsWith("%")) indirect.push(call);
      else if (found?.body === undefined) outside.push({ call, callee });
      else if (!functions.includes(found)) functions.push(found);
    }
  }
  return { functions, outside, indirect };
}

/** A call that makes a function recursive, directly or through others; undefined: there is none. */
export function recursiveCall({ functions }: CallGraph): Instruction | undefined {
  const byName = new Map(functions.map((one) => [one.name, one]));
  const reaches = (from: Func, to: Func) => {
    const seen = new Set<Func>();
    const open = [from];
    for (let func = open.pop(); func !== undefined; func = open.pop()) {
      if (func === to) return true;
      if (seen.has(func)) continue;
      seen.add(func);
      for (const call of callsIn(func)) {
        const callee = byName.get(calleeOf(call) ?? "");
        if (callee !== undefined) open.push(callee);
      }
    }
    return false;
  };
  for (const func of functions)
    for (const call of callsIn(func)) {
      const callee = byName.get(calleeOf(call) ?? "");
      if (callee !== undefined && reaches(callee, func)) return call;
    }
  return undefined;
}

const isCall = ({ opcode }: Operation) => opcode === "call";
const callsIn = (func: Func) => instructionsThat(func, isCall);

/** The name of the called function; it follows the list of results, if there is one. */
export function calleeOf({ operands }: Instruction): string | undefined {
  const callee = operands[0]?.kind === "list" ? operands[1] : operands[0];
  return callee?.kind === "name" ? callee.name : undefined;
}

export const instructionsOf = (func: Func): readonly Instruction[] =>
  controlFlow(func).instructions;

/** Visits statements in order, including those of inner scopes. */
export function eachStatement(
  body: readonly Statement[],
  visit: (statement: Statement) => void,
): void {
  for (const one of body) {
    visit(one);
    if (one.kind === "block") eachStatement(one.body, visit);
  }
}

/** The function's instructions whose operation satisfies `does`; most functions have none. */
function instructionsThat(
  func: Func,
  does: (operation: Operation) => boolean,
): readonly Instruction[] {
  return hasOperation(func, does)
    ? instructionsOf(func).filter(({ operation }) => does(operation))
    : [];
}

/** Does any operation of the function satisfy `does`? Fast, because a function has few different operations. */
export function hasOperation(func: Func, does: (operation: Operation) => boolean): boolean {
  for (const one of controlFlow(func).operations) if (does(one)) return true;
  return false;
}

/** Does an instruction of these functions use the name? */
export const isNamedIn = (functions: readonly Func[], name: string): boolean =>
  functions.some((func) => controlFlow(func).names.numberOf.has(name));
