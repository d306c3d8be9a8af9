// Live range splitting. Hand-written PTX reuses a register for unrelated values, and several scopes may declare
// registers of the same name. Where no value of such a register lives beyond its basic block, each definition gets a
// name of its own. Analyses that need a register's only definition then find it.

import { gatherNames, SEVERAL } from "../syntax/names.ts";
import { baseName, readsResult, writesFirst } from "../syntax/operation-facts.ts";
import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Flow } from "./control-flow.ts";

/** The graph with live ranges split; the same graph if there is nothing to split. */
export function splitLiveRanges(flow: Flow): Flow {
  const passing = passingWithin(flow);
  if (passing.size === 0) return flow;
  const versions = new Map<string, number>();
  const nameOf = (name: string) => {
    const base = baseName(name);
    const version = versions.get(base);
    return version === undefined ? name : `${base}#${version}${name.slice(base.length)}`;
  };
  const instructions = flow.instructions.map((one, i): Instruction => {
    const { names } = flow;
    const from = names.at[2 * i] ?? 0;
    const touched = names.numbers.slice(from, names.at[2 * i + 2]);
    if (!touched.some((number) => passing.has(number))) return one;
    const predicate = one.predicate && {
      ...one.predicate,
      register: nameOf(one.predicate.register),
    };
    const writes = writesFirst(one);
    const rest = one.operands.slice(writes ? 1 : 0).map((operand) => withNames(operand, nameOf));
    if (predicate === undefined)
      for (const number of names.numbers.slice(from, names.at[2 * i + 1]))
        if (passing.has(number)) {
          const name = names.texts[number] ?? "";
          versions.set(name, (versions.get(name) ?? 0) + 1);
        }
    const first = one.operands[0];
    const operands = writes && first !== undefined ? [withNames(first, nameOf), ...rest] : rest;
    return { ...one, predicate, operands };
  });
  return { ...flow, instructions, names: gatherNames(instructions) };
}

/** Numbers of registers with several definitions that every block defines before it reads them. */
function passingWithin({ instructions, blocks, names }: Flow): ReadonlySet<number> {
  const found = new Set<number>();
  names.writer.forEach((writer, number) => {
    if (writer === SEVERAL) found.add(number);
  });
  for (const { first, end } of found.size === 0 ? [] : blocks) {
    const written = new Set<number>();
    for (let i = first; i < end; i += 1) {
      const one = instructions[i];
      const reads = names.at[2 * i + 1] ?? 0;
      const lasts = one?.predicate !== undefined || (one && readsResult(one.operation));
      for (let k = lasts ? (names.at[2 * i] ?? 0) : reads; k < (names.at[2 * i + 2] ?? 0); k += 1)
        if (!written.has(names.numbers[k] ?? 0)) found.delete(names.numbers[k] ?? 0);
      for (let k = names.at[2 * i] ?? 0; k < reads; k += 1) written.add(names.numbers[k] ?? 0);
    }
  }
  return found;
}

/** The operand with its names replaced. */
export function withNames(operand: Operand, become: (name: string) => string): Operand {
  switch (operand.kind) {
    case "name":
      return { kind: "name", name: become(operand.name) };
    case "sum":
      return { ...operand, name: become(operand.name) };
    case "memory":
      return {
        ...operand,
        base:
          operand.base.kind === "name"
            ? { kind: "name", name: become(operand.base.name) }
            : operand.base,
        rest: operand.rest.map((one) => withNames(one, become)),
      };
    case "vector":
    case "list":
      return { ...operand, elements: operand.elements.map((one) => withNames(one, become)) };
    case "pair":
      return {
        ...operand,
        first: withNames(operand.first, become),
        second: withNames(operand.second, become),
      };
    case "not":
      return { ...operand, operand: { kind: "name", name: become(operand.operand.name) } };
    case "immediate":
    case "raw":
      return operand;
  }
}
