import { addNames, baseName, readsResult, writesFirst } from "./operation-facts.ts";
import { isSpecial } from "./special-registers.ts";
import type { Instruction } from "./syntax.ts";

export interface Names {
  readonly texts: readonly string[];
  readonly numberOf: ReadonlyMap<string, number>;
  /**
   * Numbers by instruction: names that instruction i writes begin at `at[2 * i]`, names that it reads at
   * `at[2 * i + 1]`, with its predicate last; they end before `at[2 * i + 2]`.
   */
  readonly numbers: readonly number[];
  readonly at: Int32Array;
  readonly writer: Int32Array;
  readonly specials: Specials;
}

export type Specials = ReadonlyMap<Instruction, readonly string[]>;

export const NOBODY = -1;
export const SEVERAL = -2;

export function gatherNames(instructions: readonly Instruction[]): Names {
  const gathered = new Gathered();
  const at = new Int32Array(2 * instructions.length + 1);
  instructions.forEach((one, i) => {
    const { predicate, operation, operands } = one;
    const writes = writesFirst(one);
    at[2 * i] = gathered.numbers.length;
    if (writes && operands[0] !== undefined) addNames(operands[0], gathered);
    at[2 * i + 1] = gathered.numbers.length;
    for (let n = writes && !readsResult(operation) ? 1 : 0; n < operands.length; n += 1) {
      const operand = operands[n];
      if (operand !== undefined) addNames(operand, gathered);
    }
    if (predicate !== undefined) gathered.push(predicate.register);
    at[2 * i + 2] = gathered.numbers.length;
  });
  const { texts, numberOf, numbers } = gathered;
  const writer = writers(texts.length, numbers, at);
  return { texts, numberOf, numbers, at, writer, specials: specialsOf(instructions, gathered, at) };
}

function writers(names: number, numbers: readonly number[], at: Int32Array): Int32Array {
  const writer = new Int32Array(names).fill(NOBODY);
  for (let i = 0; 2 * i + 1 < at.length; i += 1)
    for (let k = at[2 * i] ?? 0; k < (at[2 * i + 1] ?? 0); k += 1) {
      const number = numbers[k] ?? 0;
      writer[number] = writer[number] === NOBODY ? i : SEVERAL;
    }
  return writer;
}

function specialsOf(
  instructions: readonly Instruction[],
  { texts, numbers }: Gathered,
  at: Int32Array,
): Specials {
  const found = new Map<Instruction, string[]>();
  const special = texts.map(baseName).map((name) => (isSpecial(name) ? name : ""));
  instructions.forEach((one, i) => {
    for (let k = at[2 * i] ?? 0; k < (at[2 * i + 2] ?? 0); k += 1) {
      const name = special[numbers[k] ?? 0] ?? "";
      if (name === "") continue;
      const known = found.get(one);
      if (known === undefined) found.set(one, [name]);
      else known.push(name);
    }
  });
  return found;
}

class Gathered {
  readonly texts: string[] = [];
  readonly numberOf = new Map<string, number>();
  readonly numbers: number[] = [];

  push(name: string): void {
    let number = this.numberOf.get(name);
    if (number === undefined) {
      number = this.texts.length;
      this.numberOf.set(name, number);
      this.texts.push(name);
    }
    this.numbers.push(number);
  }
}
