// Does a block wait for others? A loop that goes round until memory changes waits for whoever changes it. A wait
// for a lower block is kept alive by starting blocks in rising order; any other one may wait for a block that
// has not been started, and is refused.
import {
  type Affine,
  addressOf,
  affine,
  constantValue,
  type Definitions,
  definitions,
  isSame,
} from "./addresses.ts";
import { controlFlow, type Flow, loops } from "./control-flow.ts";
import { ofLowerBlock } from "./lower-blocks.ts";
import { readNames, writtenNames } from "./operation-facts.ts";
import { calleeOf, instructionsThat, type Reach } from "./reach.ts";
import type { Refuse } from "./reasons.ts";
import type { Func, Instruction, Operation } from "./syntax.ts";

/** Refuses waits that could last for ever; true if there are others, for lower blocks. */
export function waits(reached: Reach, refuse: Refuse): boolean {
  const polling = new Set<string>();
  for (const func of reached.functions) {
    const reads = instructionsThat(func, readsOthers);
    if (reads.length === 0) continue;
    const known = definitions(controlFlow(func));
    if (reads.some((one) => mayPoll(one, known))) polling.add(func.name);
  }
  let lookBack = false;
  for (const func of reached.functions) if (waitsIn(func, polling, refuse)) lookBack = true;
  return lookBack;
}

function waitsIn(func: Func, polling: ReadonlySet<string>, refuse: Refuse): boolean {
  let lookBack = false;
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
      const polls = mayPoll(one, known) || plain.has(one) || takes(one, inside, known);
      if (!polls || !decides(one, inside)) continue;
      if (isLock(one, () => instructionsIn(flow, reachableFrom(flow, loop)), known)) continue;
      if (ofLowerBlock(one.operands[1], flow, known)) {
        lookBack = true;
        continue;
      }
      refuse(
        "grid-wait",
        one,
        `a loop goes round until ${one.operation.text} reads another value, which another block may have to write`,
      );
    }
  }
  return lookBack;
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
 * makes its own progress: a retry, a ticket.
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
  // Up to 0 it writes 0 whatever was there.
  if (modifiers.includes("inc")) return value === 0;
  return !modifiers.includes("dec");
}

/**
 * An exchange at one place, or a compare-and-swap of one value there, goes on only when somebody has put something there:
 * it takes a lock, a token, or its turn. One whose place or value changes from round to round is a retry.
 */
function takes(one: Instruction, inside: readonly Instruction[], known: Definitions): boolean {
  const { opcode, modifiers } = one.operation;
  const exchanges = modifiers.includes("exch");
  if (opcode !== "atom" || !isForeign(one.operation)) return false;
  if (!exchanges && !modifiers.includes("cas")) return false;
  const changing = new Set(inside.flatMap(writtenNames));
  const stays = (value: Affine | undefined) =>
    value !== undefined && ![...value.terms.keys()].some((name) => changing.has(name));
  const [, place, compared] = one.operands;
  return stays(addressOf(place, known)) && (exchanges || stays(affine(compared, known)));
}

/** What is taken is a lock if whoever has it puts back what the others wait for: a holder is at work, so it will. */
function isLock(
  one: Instruction,
  later: () => readonly Instruction[],
  known: Definitions,
): boolean {
  const { opcode, modifiers } = one.operation;
  const exchanges = modifiers.includes("exch");
  if (opcode !== "atom" || !(exchanges || modifiers.includes("cas"))) return false;
  const [, place, first] = one.operands;
  const waited = constantValue(first, known);
  if (Number.isNaN(waited)) return false;
  const lock = addressOf(place, known);
  return later().some((other) => {
    const written = other === one ? undefined : writes(other);
    if (written === undefined || !isSame(lock, addressOf(written.place, known))) return false;
    const value = constantValue(written.value, known);
    return exchanges ? !Number.isNaN(value) && value !== waited : value === waited;
  });
}

/** Where memory gets which value. */
function writes({ operation: { opcode, modifiers }, operands }: Instruction) {
  if (opcode === "st") return { place: operands[0], value: operands[1] };
  if (opcode !== "atom") return undefined;
  if (modifiers.includes("exch")) return { place: operands[1], value: operands[2] };
  return modifiers.includes("cas") ? { place: operands[1], value: operands[3] } : undefined;
}

/** The blocks to which control may come from those, and they themselves. */
function reachableFrom({ blocks }: Flow, from: readonly number[]): readonly number[] {
  const found = new Set(from);
  for (const n of found) for (const next of blocks[n]?.successors ?? []) found.add(next);
  return [...found];
}

/**
 * Plain reads of one and the same place in each round of a loop that does not count its rounds: a compiler that may
 * would have moved them out.
 */
function plainPolls(
  inside: readonly Instruction[],
  outside: () => readonly Instruction[],
): ReadonlySet<Instruction> {
  const reads = inside.filter(({ operation }) => isPlainRead(operation));
  if (reads.length === 0) return new Set();
  const changing = new Set(inside.flatMap(writtenNames));
  const same = reads.filter((one) => !readNames(one).some((name) => changing.has(name)));
  return new Set(same.length === 0 || countsRounds(inside, outside()) ? [] : same);
}

/** From memory that others may write. */
const isPlainRead = (one: Operation) =>
  (one.opcode === "ld" && isForeign(one)) || one.opcode === "ldu" || one.opcode === "suld";

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
