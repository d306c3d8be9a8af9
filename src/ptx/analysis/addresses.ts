import type { Instruction, Operand } from "../syntax/syntax.ts";
import type { Flow } from "./control-flow.ts";

/** A term is a special register, a symbol, a register or a parameter (`parameterIn`). */
export interface Affine {
  readonly constant: number;
  readonly terms: ReadonlyMap<string, number>;
}

/** PTX calls this number WARP_SZ (PTX ISA 9.0, 4.5). */
export const WARP_SIZE = 32;

/** It stands for %ctaid.x x %nctaid.y + %ctaid.y. Nothing else is a product of two registers. */
export const BY_COLUMNS = "%ctaid.x*%nctaid.y+%ctaid.y";

/** Parameters, sizes and addresses of variables are; a name with "@" is of a function's copy. */
export const isOfGrid = (name: string): boolean =>
  /^%n(ctaid|tid)\.[xyz]$/.test(name) || !/^[%?]|@/.test(name);

const DEEPEST = 64;

/** undefined if no instruction or several write the register. */
export interface Definitions {
  get(register: string): Instruction | undefined;
  /** They are variables of the parameter space that hold arguments and results of calls. */
  readonly ofCalls?: ReadonlySet<string>;
}

export const definitions = ({ instructions, names, others }: Flow): Definitions => ({
  ofCalls: new Set(
    others.flatMap((one) =>
      one.kind === "variable" && one.space === "param" ? one.names.map(({ name }) => name) : [],
    ),
  ),
  get: (register) => {
    const number = names.numberOf.get(register);
    // `writer` is negative where no instruction or several write the register.
    return number === undefined ? undefined : instructions[names.writer[number] ?? -1];
  },
});

export function addressOf(
  operand: Operand | undefined,
  known: Definitions,
  depth = 0,
): Affine | undefined {
  if (operand?.kind !== "memory") return undefined;
  const base = affine(operand.base, known, depth);
  return plus(base, constant(offsetOf(operand.offset)), 1);
}

/** It is NaN for anything but a number, or a register that always holds the same number. */
export function constantValue(operand: Operand | undefined, known: Definitions): number {
  if (operand?.kind === "immediate") return Number(operand.text);
  const value = affine(operand, known);
  return value.terms.size === 0 ? value.constant : Number.NaN;
}

export const isFullMask = (value: number) => !Number.isNaN(value) && (value | 0) === -1;

export function isSame(a: Affine | undefined, b: Affine | undefined): boolean {
  if (a === undefined || b === undefined || a.constant !== b.constant) return false;
  if (a.terms.size !== b.terms.size) return false;
  return [...a.terms].every(([name, factor]) => name !== "?" && b.terms.get(name) === factor);
}

/** It reads "+16", "+-16" and "". */
const offsetOf = (text: string) => (text === "" ? 0 : Number(text.replace("+-", "-")));

const constant = (value: number): Affine => ({ constant: value, terms: new Map() });
const term = (name: string): Affine => ({ constant: 0, terms: new Map([[name, 1]]) });

export function affine(operand: Operand | undefined, known: Definitions, depth = 0): Affine {
  if (operand?.kind === "immediate") return constant(Number(operand.text));
  if (operand?.kind === "name" && operand.name === "WARP_SZ") return constant(WARP_SIZE);
  if (operand?.kind === "sum")
    return plus(term(operand.name), constant(offsetOf(operand.offset)), 1);
  if (operand?.kind !== "name") return term("?");
  const made = known.get(operand.name);
  if (made === undefined || made.predicate !== undefined || depth > DEEPEST)
    return term(operand.name);
  const given = parameterIn(operand.name, made, known, depth + 1);
  if (given !== undefined) return term(given);
  return resultOf(made, known, depth + 1) ?? term(operand.name);
}

/** "[p+8].32" stands for 32 bits at offset 8 of p. undefined where the place is not a constant. */
export function parameterIn(
  register: string,
  { operation, operands }: Instruction,
  known: Definitions,
  depth = 0,
): string | undefined {
  const [to, from] = operands;
  if (operation.opcode !== "ld" || operation.modifiers[0] !== "param") return undefined;
  const place = addressOf(from, known, depth);
  const [[symbol, factor] = ["", 0]] = place?.terms ?? [];
  if (place?.terms.size !== 1 || factor !== 1 || /^[%?]/.test(symbol)) return undefined;
  if (known.ofCalls?.has(symbol)) return undefined;
  const elements = to?.kind === "vector" ? to.elements : [to];
  const index = elements.findIndex((one) => one?.kind === "name" && one.name === register);
  const bits = Number(/\d+$/.exec(operation.modifiers.at(-1) ?? "")?.[0]);
  return index < 0 || Number.isNaN(bits)
    ? undefined
    : `[${symbol}+${place.constant + (index * bits) / 8}].${bits}`;
}

export function resultOf(
  { operation, operands }: Instruction,
  known: Definitions,
  depth = 0,
): Affine | undefined {
  const { opcode, modifiers } = operation;
  const [, first, second, third] = operands;
  const of = (operand: Operand | undefined) => affine(operand, known, depth);
  switch (opcode) {
    case "mov":
    case "cvta":
      return of(first);
    case "cvt":
      if (modifiers[0]?.endsWith("64")) return of(first);
      return narrowsAgain(modifiers, first, known) ? of(first) : undefined;
    case "add":
      return plus(of(first), of(second), 1);
    case "sub":
      return plus(of(first), of(second), -1);
    case "not":
      return plus(constant(-1), of(first), -1);
    case "mul":
      return modifiers[0] === "hi" ? undefined : times(of(first), of(second));
    case "mad": {
      if (modifiers[0] === "hi") return undefined;
      const factors = [of(first), of(second)] as const;
      const product = times(...factors);
      if (product) return plus(product, of(third), 1);
      const isColumn =
        factors.some((one) => isSame(one, term("%ctaid.x"))) &&
        factors.some((one) => isSame(one, term("%nctaid.y"))) &&
        isSame(of(third), term("%ctaid.y"));
      return isColumn ? term(BY_COLUMNS) : undefined;
    }
    case "shl": {
      const by = of(second);
      return by.terms.size === 0 ? times(of(first), constant(2 ** by.constant)) : undefined;
    }
  }
  return undefined;
}

/** The value is the same if it had 32 bits before it was widened. */
function narrowsAgain(
  modifiers: readonly string[],
  operand: Operand | undefined,
  known: Definitions,
): boolean {
  const made = operand?.kind === "name" ? known.get(operand.name) : undefined;
  const narrows = /^[su]32$/.test(modifiers[0] ?? "") && /^[su]64$/.test(modifiers[1] ?? "");
  if (!narrows || made?.predicate !== undefined) return false;
  const [to, from] = made?.operation.opcode === "cvt" ? made.operation.modifiers : [];
  if (made?.operation.opcode === "ld")
    return /^[su]32$/.test(made.operation.modifiers.at(-1) ?? "");
  return /^[su]64$/.test(to ?? "") && /^[su]32$/.test(from ?? "");
}

export function plus(a: Affine, b: Affine, sign: 1 | -1): Affine {
  const terms = new Map(a.terms);
  for (const [name, factor] of b.terms) {
    const sum = (terms.get(name) ?? 0) + sign * factor;
    if (sum === 0) terms.delete(name);
    else terms.set(name, sum);
  }
  return { constant: a.constant + sign * b.constant, terms };
}

function times(a: Affine, b: Affine): Affine | undefined {
  const [scale, rest] = a.terms.size === 0 ? [a.constant, b] : [b.constant, a];
  if (a.terms.size > 0 && b.terms.size > 0) return undefined;
  const terms = new Map([...rest.terms].map(([name, factor]) => [name, factor * scale]));
  return { constant: rest.constant * scale, terms };
}
