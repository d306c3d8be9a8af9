// A block can only wait in a loop whose exit depends on memory that other blocks may write. Such a
// read is refused unless the loop ends without them, or waits for a block that runs: a lock's
// holder or a lower block, which variants start first.
import { addressOf, definitions, isSame, plus } from "../analysis/addresses.ts";
import {
  locations,
  type MemoryLocation,
  type MemoryLocations,
  mayAlias,
  spacesOf,
} from "../analysis/alias-analysis.ts";
import type { CallGraph } from "../analysis/call-graph.ts";
import { type Flow, loops } from "../analysis/control-flow.ts";
import { inline } from "../analysis/inlining.ts";
import { type Loop, loopNests } from "../analysis/loop-nests.ts";
import {
  isFence,
  operandRead,
  operandWritten,
  type Reading,
  readingOf,
} from "../analysis/memory-accesses.ts";
import type { Refuse } from "../analysis/reasons.ts";
import { readNames, writtenNames } from "../syntax/operation-facts.ts";
import type { Func, Instruction, Item, Module, Spanned } from "../syntax/syntax.ts";
import { decides } from "./dependence.ts";
import { drawnTurnTests, isBehindDrawn } from "./drawn.ts";
import { Iterations } from "./induction.ts";
import { isLock } from "./locks.ts";
import { isLookBack, type LookBack, orderOf } from "./look-back.ts";
import { retries, takesOnce } from "./retries.ts";
import { ticketTests } from "./tickets.ts";
import { turnTests } from "./turns.ts";

export function waits(graph: CallGraph, module: Module, refuse: Refuse): LookBack | undefined {
  const [kernel] = graph.functions;
  if (kernel === undefined) return undefined;
  // It is cached, because both variants ask, together with the module's functions.
  const before = known.get(kernel);
  const found = before?.items === module.items ? before : findWaits(kernel, graph, module);
  known.set(kernel, found);
  for (const { node, text } of found.refused) refuse("grid-wait", node, text);
  return found.lookBack;
}

const known = new WeakMap<Func, Waits>();

interface Waits {
  readonly items: readonly Item[];
  readonly refused: readonly { readonly node: Spanned; readonly text: string }[];
  readonly lookBack: LookBack | undefined;
}

function findWaits(kernel: Func, graph: CallGraph, module: Module): Waits {
  const refused: { node: Spanned; text: string }[] = [];
  const found = (lookBack?: LookBack): Waits => ({ items: module.items, refused, lookBack });
  const flow = inline(graph);
  if (flow === undefined) {
    const text = "it calls so much that whether it waits is not known";
    refused.push({ node: kernel, text });
    return found();
  }
  for (const node of endless(flow)) {
    const text = "a loop has no end, so who comes to it may depend on other blocks";
    refused.push({ node, text });
  }
  const read = new Map<number, Reading>();
  flow.instructions.forEach((one, i) => {
    const reading = readingOf(one);
    if (reading !== undefined) read.set(i, reading);
  });
  const blocks = new Set([...read.keys()].map((i) => flow.blockOf[i] ?? -1));
  const nested = loopNests(flow, blocks);
  if (nested === undefined) {
    const text = "its loops are nested so deep that whether it waits is not known";
    refused.push({ node: kernel, text });
    return found();
  }
  if (nested.length === 0) return found();
  const params = new Set(kernel.params.flatMap(({ names }) => names.map(({ name }) => name)));
  const where = locations(flow, spacesOf(graph.functions, module), params);
  const looking = new Looking(flow, where, read);
  let lookBack: LookBack | undefined;
  for (const loop of nested)
    for (const one of looking.waitsIn(loop)) {
      if (typeof one === "string") lookBack = one;
      else {
        const text = `a loop goes round until ${one.operation.text} reads another value, which another block may have to write`;
        refused.push({ node: one, text });
      }
    }
  return found(lookBack);
}

/** A thread that read memory too early could stay in a loop without an exit for ever. */
function endless(flow: Flow): readonly Instruction[] {
  const { blocks, instructions } = flow;
  return loops(flow).flatMap((loop) => {
    const inside = new Set(loop);
    const goesOn = (n: number) =>
      blocks[n]?.exits === true || blocks[n]?.successors.some((one) => !inside.has(one)) === true;
    const first = instructions[blocks[Math.min(...loop)]?.first ?? -1];
    return first === undefined || loop.some(goesOn) ? [] : [first];
  });
}

class Looking {
  readonly #flow: Flow;
  readonly #locations: MemoryLocations;
  readonly #read: ReadonlyMap<number, Reading>;
  #written: readonly MemoryLocation[] | undefined;

  constructor(flow: Flow, where: MemoryLocations, read: ReadonlyMap<number, Reading>) {
    this.#flow = flow;
    this.#locations = where;
    this.#read = read;
  }

  /** Reads that wait only for lower blocks are given by the order in which these are lower. */
  waitsIn(loop: Loop): readonly (Instruction | LookBack)[] {
    const all = this.#indices(loop).filter((i) => this.#read.has(i));
    if (!this.#decide(loop, all)) return [];
    const iterations = new Iterations(this.#flow, loop, definitions(this.#flow));
    const some = all.filter((i) => this.#isForeign(i) && this.#seesOthers(i, iterations));
    if (some.length === 0 || !this.#decide(loop, some) || retries(iterations)) return [];
    const ends = some.some((i) => ticketTests(i, iterations, this.#locations).size > 0);
    return some.flatMap((i) => {
      // Only the host sets such a flag, for example to ask persistent workers to stop.
      if (ends && !this.#isWritten(i)) return [];
      const one = this.#flow.instructions[i];
      if (one === undefined || !this.#decide(loop, [i])) return [];
      if (isScan(one, iterations) || takesOnce(i, iterations, this.#locations)) return [];
      if (isLock(i, iterations, this.#locations)) return [];
      const tests = ticketTests(i, iterations, this.#locations);
      if (tests.size > 0 && !this.#decide(loop, [i], tests)) return [];
      const drawn = drawnTurnTests(i, iterations, this.#locations);
      if (drawn.size > 0 && !this.#decide(loop, [i], drawn)) return [];
      if (isBehindDrawn(one, this.#flow, iterations.known, this.#locations)) return [];
      if (isLookBack(one, this.#flow, iterations.known, this.#locations))
        return orderOf(this.#flow) ?? one;
      const turns = turnTests(i, iterations, this.#locations);
      return [turns.size > 0 && !this.#decide(loop, [i], turns) ? "row" : one];
    });
  }

  #decide(loop: Loop, from: readonly number[], harmless?: ReadonlySet<number>): boolean {
    const reads = { flow: this.#flow, locations: this.#locations, from: new Set(from) };
    return decides(harmless === undefined ? reads : { ...reads, harmless }, loop);
  }

  #indices({ blocks }: Loop): readonly number[] {
    return [...blocks]
      .sort((a, b) => a - b)
      .flatMap((n) => {
        const { first = 0, end = 0 } = this.#flow.blocks[n] ?? {};
        return Array.from({ length: end - first }, (_, i) => first + i);
      });
  }

  #location(i: number): MemoryLocation {
    const one = this.#flow.instructions[i] as Instruction;
    return this.#locations.of(one, operandRead(one));
  }

  #isForeign(i: number): boolean {
    const { space } = this.#location(i);
    return space === "global" || space === "any";
  }

  #isWritten(i: number): boolean {
    const location = this.#location(i);
    this.#written ??= this.#flow.instructions.flatMap((other) => {
      const target = operandWritten(other);
      return target === undefined ? [] : [this.#locations.of(other, target)];
    });
    return this.#written.some((other) => mayAlias(other, location));
  }

  #seesOthers(i: number, iterations: Iterations): boolean {
    if (this.#read.get(i) === "fresh") return true;
    const one = this.#flow.instructions[i] as Instruction;
    const inside = this.#indices(iterations.loop).flatMap(
      (at) => this.#flow.instructions[at] ?? [],
    );
    const bounded = boundsOf(iterations, writtenNames(one));
    const fixed = isFixed(one, iterations);
    // A compiler moves a plain read of a fixed address out of the loop unless others write there.
    if (fixed && bounded.length === 0 && !handsOn(inside, iterations)) return true;
    if (!this.#isWritten(i)) return false;
    if (bounded.length === 0 || inside.some(({ operation }) => isFence(operation))) return true;
    if (!fixed || writesThere(one, inside, iterations)) return false;
    const bounds = new Set(bounded.map((other) => this.#flow.instructions.indexOf(other)));
    return this.#decide(iterations.loop, [i], bounds);
  }
}

/** An induction variable against a bound limits iterations; `besides` are bounds that are read. */
const boundsOf = (
  iterations: Iterations,
  besides: readonly string[] = [],
): readonly Instruction[] =>
  iterations.leavings.flatMap(({ compare }) => {
    const [, a, b] = compare.operands;
    const distance = plus(iterations.value(a), iterations.value(b), -1);
    return iterations.movesOn(distance, (name) => besides.includes(name)) ? [compare] : [];
  });

/** The memory is the block's own then. */
const writesThere = (one: Instruction, inside: readonly Instruction[], { known }: Iterations) =>
  inside.some(
    (other) =>
      other.operation.opcode === "st" &&
      isSame(addressOf(operandWritten(other), known), addressOf(operandRead(one), known)),
  );

/** Each iteration reads another address. */
function isScan(one: Instruction, iterations: Iterations): boolean {
  if (boundsOf(iterations).length === 0) return false;
  const address = addressOf(operandRead(one), iterations.known);
  if (address === undefined) return false;
  if ([...address.terms.keys()].some((name) => iterations.moves(name))) return true;
  // These are addresses that come from a list in memory.
  return [...address.terms.keys()].some((name) => {
    const [made, ...others] = iterations.writers(name);
    if (made === undefined || others.length > 0 || !/^ldu?$/.test(made.operation.opcode))
      return false;
    const from = addressOf(made.operands[1], iterations.known);
    return [...(from?.terms.keys() ?? [])].some((inner) => iterations.moves(inner));
  });
}

const isFixed = (one: Instruction, iterations: Iterations) => {
  const address = addressOf(operandRead(one), iterations.known);
  return address === undefined || iterations.stays(address);
};

function handsOn(inside: readonly Instruction[], { flow, loop }: Iterations): boolean {
  const before = new Set<string>();
  flow.instructions.forEach((one, i) => {
    if (!loop.blocks.has(flow.blockOf[i] ?? -1))
      for (const name of writtenNames(one)) before.add(name);
  });
  const handed = new Set(inside.flatMap(writtenNames).filter((name) => before.has(name)));
  for (let grown = handed.size > 0; grown; ) {
    grown = false;
    for (const one of inside) {
      if (!readNames(one).some((name) => handed.has(name))) continue;
      if (one.operation.opcode === "bra") return true;
      for (const name of writtenNames(one)) {
        if (handed.has(name)) continue;
        handed.add(name);
        grown = true;
      }
    }
  }
  return false;
}
