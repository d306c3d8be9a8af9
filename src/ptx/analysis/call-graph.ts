import { moduleScope } from "../syntax/scopes.ts";
import type { Func, Instruction, Module, Operation, Statement } from "../syntax/syntax.ts";
import { controlFlow } from "./control-flow.ts";

export interface CallGraph {
  readonly functions: readonly Func[];
  readonly outside: readonly { readonly call: Instruction; readonly callee: string }[];
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

export function calleeOf({ operands }: Instruction): string | undefined {
  const callee = operands[0]?.kind === "list" ? operands[1] : operands[0];
  return callee?.kind === "name" ? callee.name : undefined;
}

export const instructionsOf = (func: Func): readonly Instruction[] =>
  controlFlow(func).instructions;

export function eachStatement(
  body: readonly Statement[],
  visit: (statement: Statement) => void,
): void {
  for (const one of body) {
    visit(one);
    if (one.kind === "block") eachStatement(one.body, visit);
  }
}

function instructionsThat(
  func: Func,
  does: (operation: Operation) => boolean,
): readonly Instruction[] {
  return hasOperation(func, does)
    ? instructionsOf(func).filter(({ operation }) => does(operation))
    : [];
}

export function hasOperation(func: Func, does: (operation: Operation) => boolean): boolean {
  for (const one of controlFlow(func).operations) if (does(one)) return true;
  return false;
}

export const isNamedIn = (functions: readonly Func[], name: string): boolean =>
  functions.some((func) => controlFlow(func).names.numberOf.has(name));
