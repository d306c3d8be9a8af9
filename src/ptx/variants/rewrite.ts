import { type Instruction, made, type Operand, type Statement } from "../syntax/syntax.ts";

export function rewrite(
  body: readonly Statement[],
  change: (instruction: Instruction) => Statement | readonly Statement[] | undefined,
): readonly Statement[] {
  return body.flatMap((one): Statement | readonly Statement[] => {
    if (one.kind === "instruction") return change(one) ?? [];
    if (one.kind === "block") return { ...one, body: rewrite(one.body, change) };
    return one;
  });
}

export function rename(instruction: Instruction, names: ReadonlyMap<string, string>): Instruction {
  const operands = renameAll(instruction.operands, names);
  return operands === instruction.operands ? instruction : { ...instruction, ...made, operands };
}

function renameAll(
  operands: readonly Operand[],
  names: ReadonlyMap<string, string>,
): readonly Operand[] {
  let changed: Operand[] | undefined;
  for (let i = 0; i < operands.length; i += 1) {
    const one = operands[i];
    if (one === undefined) continue;
    const other = renameOperand(one, names);
    if (other === one) continue;
    changed ??= [...operands];
    changed[i] = other;
  }
  return changed ?? operands;
}

function renameOperand(operand: Operand, names: ReadonlyMap<string, string>): Operand {
  switch (operand.kind) {
    case "name": {
      const other = names.get(operand.name);
      return other === undefined ? operand : { kind: "name", name: other };
    }
    case "memory": {
      const base = renameOperand(operand.base, names);
      const rest = renameAll(operand.rest, names);
      const same = base === operand.base && rest === operand.rest;
      return same || (base.kind !== "name" && base.kind !== "immediate")
        ? operand
        : { ...operand, base, rest };
    }
    case "vector":
    case "list": {
      const elements = renameAll(operand.elements, names);
      return elements === operand.elements ? operand : { ...operand, elements };
    }
    case "pair": {
      const first = renameOperand(operand.first, names);
      const second = renameOperand(operand.second, names);
      return first === operand.first && second === operand.second
        ? operand
        : { kind: "pair", first, second };
    }
    case "sum": {
      const other = names.get(operand.name);
      return other === undefined ? operand : { ...operand, name: other };
    }
    case "not":
    case "immediate":
    case "raw":
      return operand;
  }
}
