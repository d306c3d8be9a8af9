import { type Position, positionOf } from "./errors.ts";
import { addNames, baseName, writtenNames } from "./operation-facts.ts";
import {
  blockScope,
  findFunction,
  findLabel,
  findVariable,
  functionScope,
  type Scope,
  scopeOf,
} from "./scopes.ts";
import { isSpecial } from "./special-registers.ts";
import type { Instruction, Module, Operand, Statement } from "./syntax.ts";

export interface Problem extends Position {
  readonly text: string;
}

/** They are in the order of the file. An empty list means only that the names are correct. */
export function verify(module: Module): readonly Problem[] {
  const problems: Problem[] = [];
  const say: Say = (at, text) => {
    problems.push({ ...positionOf(module.source, at), text });
  };
  const twice = (name: string, at: number) => say(at, `${name} is declared twice`);
  const outer = scopeOf(module.items, twice);
  for (const item of module.items) {
    if (item.kind !== "function" || item.body === undefined) continue;
    verifyBody(item.body, functionScope(item, outer, twice), say);
  }
  return problems.sort((a, b) => a.line - b.line || a.column - b.column);
}

type Say = (at: number, text: string) => void;

function verifyBody(body: readonly Statement[], scope: Scope, say: Say): void {
  const twice = (name: string, at: number) => say(at, `${name} is declared twice`);
  for (const one of body) {
    if (one.kind === "block") verifyBody(one.body, blockScope(one.body, scope, twice), say);
    else if (one.kind === "instruction") verifyInstruction(one, scope, say);
  }
}

function verifyInstruction(instruction: Instruction, scope: Scope, say: Say): void {
  const { at, predicate, operation, operands } = instruction;
  if (predicate !== undefined) mustBePredicate(predicate.register, scope, at, say);
  switch (operation.opcode) {
    case "bra":
      branch(operands[0], scope, at, say);
      return;
    case "brx":
      for (const one of operands.slice(0, 1)) checkDeclared(one, scope, at, say);
      branch(operands[1], scope, at, say);
      return;
    case "call":
      call(operands, scope, at, say);
      return;
    case "setp":
    case "testp":
      for (const name of writtenNames(instruction))
        if (name !== "_") mustBePredicate(name, scope, at, say);
  }
  for (const one of operands) checkDeclared(one, scope, at, say);
}

function mustBePredicate(name: string, scope: Scope, at: number, say: Say): void {
  const found = findVariable(scope, name);
  if (found === undefined) say(at, `${name} is not declared`);
  else if (found.variable.type !== "pred" || found.variable.space !== "reg")
    say(at, `${name} is .${found.variable.type}, not a predicate`);
}

function branch(target: Operand | undefined, scope: Scope, at: number, say: Say): void {
  if (target?.kind !== "name") say(at, "the branch has no label");
  else if (findLabel(scope, target.name) === undefined)
    say(at, `there is no label ${target.name} to branch to`);
}

function call(operands: readonly Operand[], scope: Scope, at: number, say: Say): void {
  const callee = operands[0]?.kind === "list" ? operands[1] : operands[0];
  if (callee?.kind !== "name") {
    say(at, "the call names no function");
    return;
  }
  const known =
    findFunction(scope, callee.name) !== undefined ||
    findVariable(scope, callee.name) !== undefined;
  if (!known) say(at, `there is no function ${callee.name} to call`);
  for (const one of operands) if (one.kind === "list") checkDeclared(one, scope, at, say);
}

function checkDeclared(operand: Operand, scope: Scope, at: number, say: Say): void {
  const names: string[] = [];
  addNames(operand, names);
  for (const name of names) {
    const known =
      name === "_" ||
      name === "WARP_SZ" ||
      findVariable(scope, name) !== undefined ||
      isSpecial(baseName(name)) ||
      findFunction(scope, name) !== undefined ||
      findLabel(scope, name) !== undefined;
    if (!known) say(at, `${name} is not declared`);
  }
}
