// Does a block wait for others? A loop that goes round until memory changes waits for whoever changes it. A wait
// for a lower block is kept alive by starting blocks in rising order; any other one may wait for a block that
// has not been started, and is refused.
import {
  type Affine,
  addressOf,
  constantValue,
  type Definitions,
  definitions,
} from "./addresses.ts";
import { controlFlow, type Flow, loops } from "./control-flow.ts";
import { readNames, writtenNames } from "./operation-facts.ts";
import { calleeOf, instructionsThat, type Reach } from "./reach.ts";
import type { Refuse } from "./reasons.ts";
import type { Func, Instruction, Operation } from "./syntax.ts";

export function waits(reached: Reach, refuse: Refuse): void {
  const polling = new Set<string>();
  for (const func of reached.functions) {
    const reads = instructionsThat(func, readsOthers);
    if (reads.length === 0) continue;
    const known = definitions(controlFlow(func));
    if (reads.some((one) => mayPoll(one, known))) polling.add(func.name);
  }
  for (const func of reached.functions) waitsIn(func, polling, refuse);
}

function waitsIn(func: Func, polling: ReadonlySet<string>, refuse: Refuse): void {
  const flow = controlFlow(func);
  const known = definitions(flow);
  for (const loop of loops(flow)) {
    const inside = instructionsIn(flow, loop);
    const plain = plainPolls(inside, () => {
      const others = new Set(flow.blocks.keys());
      for (const block of loop) others.delete(block);
      return instructionsIn(flow, [...others]);
    });
    for (const one of inside) {
      const callee = one.operation.opcode === "call" ? (calleeOf(one) ?? "") : "";
      if (polling.has(callee))
        refuse(
          "grid-wait",
          one,
          `${callee} is called in a loop and reads what other blocks may write`,
        );
      const polls = mayPoll(one, known) || plain.has(one);
      if (!polls || !decides(one, inside)) continue;
      if (ofLowerBlock(addressOf(one.operands[1], known))) continue;
      refuse(
        "grid-wait",
        one,
        `a loop goes round until ${one.operation.text} reads another value, which another block may have to write`,
      );
    }
  }
}

/** In the order of the function. */
const instructionsIn = ({ blocks, instructions }: Flow, some: readonly number[]) =>
  [...some]
    .sort((a, b) => a - b)
    .flatMap((n) => instructions.slice(blocks[n]?.first, blocks[n]?.end));

/** Memory that other blocks may write meanwhile. */
const isForeign = ({ modifiers }: Operation) =>
  !modifiers.some((one) => /^(shared|local|param|const)/.test(one) || one === "nc");

const readsOthers = (one: Operation) =>
  (one.opcode === "atom" || (one.opcode === "ld" && one.modifiers.some(isFresh))) && isForeign(one);

const isFresh = (modifier: string) => /^(volatile|relaxed|acquire|mmio)$/.test(modifier);

/**
 * Reads that are made for what other blocks write. An update is one if it may change nothing; one that does change
 * makes its own progress: a retry, a ticket, a lock, whose holder runs to its end.
 */
function mayPoll(one: Instruction, known: Definitions): boolean {
  if (!readsOthers(one.operation)) return false;
  const { opcode, modifiers } = one.operation;
  if (opcode === "ld") return true;
  const [, , first, second] = one.operands;
  if (modifiers.includes("exch")) return false;
  const [value, other] = [constantValue(first, known), constantValue(second, known)];
  if (modifiers.includes("cas"))
    return value === other || JSON.stringify(first) === JSON.stringify(second);
  // Sums and the like of a number that is not known may be of 0; the rest have other numbers that change nothing.
  if (modifiers.includes("add")) return Number.isNaN(value) || value === 0;
  if (modifiers.includes("inc") || modifiers.includes("dec")) return false;
  return true;
}

/**
 * Plain reads of one and the same place in each round of a loop that does not count its rounds: a compiler that may
 * would have moved them out.
 */
function plainPolls(
  inside: readonly Instruction[],
  outside: () => readonly Instruction[],
): ReadonlySet<Instruction> {
  const reads = inside.filter(({ operation }) => operation.opcode === "ld" && isForeign(operation));
  if (reads.length === 0) return new Set();
  const changing = new Set(inside.flatMap(writtenNames));
  const same = reads.filter((one) => !readNames(one).some((name) => changing.has(name)));
  return new Set(same.length === 0 || countsRounds(inside, outside()) ? [] : same);
}

/** Does a branch of the loop depend on what `read` finds? */
function decides(read: Instruction, inside: readonly Instruction[]): boolean {
  // A parameter of a call, or memory: what comes of it is not followed.
  const leaves = ({ operation: { opcode } }: Instruction) =>
    /^(bra|brx|ret|exit|st|call)$/.test(opcode);
  return reaches(writtenNames(read), inside, leaves);
}

/** Does a branch of the loop depend on what a round hands to the next? Then it goes round only so often. */
function countsRounds(inside: readonly Instruction[], outside: readonly Instruction[]): boolean {
  const before = new Set(outside.flatMap(writtenNames));
  const handed = inside.flatMap(writtenNames).filter((name) => before.has(name));
  return reaches(handed, inside, ({ operation: { opcode } }) => opcode === "bra");
}

/** Does an instruction that `ends` read what was made of `names`? */
function reaches(
  names: readonly string[],
  inside: readonly Instruction[],
  ends: (one: Instruction) => boolean,
): boolean {
  const tainted = new Set(names);
  for (let grown = true; grown; ) {
    grown = false;
    for (const one of inside) {
      if (!readNames(one).some((name) => tainted.has(name))) continue;
      if (ends(one)) return true;
      for (const name of writtenNames(one)) {
        if (tainted.has(name)) continue;
        tainted.add(name);
        grown = true;
      }
    }
  }
  return false;
}

/** A table's entry for an earlier block: base + k * ctaid.x - c. */
function ofLowerBlock(address: Affine | undefined): boolean {
  if (address === undefined || !(address.constant < 0)) return false;
  let block = false;
  for (const [name, factor] of address.terms) {
    if (name === "%ctaid.x") block = factor > 0;
    else if (name.startsWith("%") || name === "?" || factor !== 1) return false;
  }
  return block;
}
