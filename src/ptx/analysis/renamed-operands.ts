import type { Operand } from "../syntax/syntax.ts";

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
