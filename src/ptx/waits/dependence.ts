// Values are followed through registers and memory, and through branches (control dependence).

import { type MemoryLocation, type MemoryLocations, mayAlias } from "../analysis/alias-analysis.ts";
import { decidedBy, type Flow, postDominators } from "../analysis/control-flow.ts";
import type { Loop } from "../analysis/loop-nests.ts";
import { isCopy, isLoad, operandRead, operandWritten } from "../analysis/memory-accesses.ts";
import type { Instruction } from "../syntax/syntax.ts";

export interface Reads {
  readonly flow: Flow;
  readonly locations: MemoryLocations;
  readonly from: ReadonlySet<number>;
  readonly harmless?: ReadonlySet<number>;
}

export function decides(reads: Reads, loop: Loop): boolean {
  const inside = new Following(reads, loop.blocks, loop.blocks);
  if (inside.decidesAbout(loop)) return true;
  // Other threads of the block may read what is written to shared or global memory.
  const { instructions, blocks } = reads.flow;
  const isCopied = (i: number) => isCopy((instructions[i] as Instruction).operation);
  const seen = [...inside.locations].filter(({ space }) => space !== "local");
  if (seen.length === 0 || [...reads.from].every(isCopied)) return false;
  const later = { ...reads, from: new Set<number>() };
  return new Following(later, new Set(blocks.keys()), loop.blocks, seen).decidesAbout(loop);
}

class Following {
  readonly #reads: Reads;
  readonly #within: ReadonlySet<number>;
  readonly #loop: ReadonlySet<number>;
  readonly #names: Uint8Array;
  readonly #controlled: Uint8Array;
  readonly #locations = new Map<string, MemoryLocation>();
  readonly #met: Uint8Array;
  #grown = true;

  constructor(
    reads: Reads,
    within: ReadonlySet<number>,
    loop: ReadonlySet<number>,
    seen: readonly MemoryLocation[] = [],
  ) {
    for (const location of seen) this.#see(location);
    this.#reads = reads;
    this.#within = within;
    this.#loop = loop;
    this.#names = new Uint8Array(reads.flow.names.texts.length);
    this.#controlled = new Uint8Array(reads.flow.blocks.length);
    this.#met = new Uint8Array(reads.flow.instructions.length);
    const blocks = [...within].sort((a, b) => a - b);
    while (this.#grown) {
      this.#grown = false;
      for (const block of blocks) this.#follow(block);
    }
  }

  get locations(): Iterable<MemoryLocation> {
    return this.#locations.values();
  }

  #see(location: MemoryLocation): void {
    this.#locations.set(
      `${location.space} ${[...(location.roots ?? "?")]} ${location.offset}`,
      location,
    );
  }

  decidesAbout({ blocks }: Loop): boolean {
    for (const n of blocks) {
      const block = this.#reads.flow.blocks[n];
      if (block === undefined || block.successors.length + (block.exits ? 1 : 0) < 2) continue;
      const leaves =
        block.exits || block.successors.some((one) => !blocks.has(one) && !this.#ends(one));
      if (leaves && (this.#controlled[n] || this.#readsMet(block.end - 1))) return true;
    }
    return false;
  }

  #ends(n: number): boolean {
    const block = this.#reads.flow.blocks[n];
    return block !== undefined && !block.exits && block.successors.length === 0;
  }

  #follow(n: number): void {
    const { flow, from, harmless } = this.#reads;
    const { first = 0, end = 0, successors = [], exits = false } = flow.blocks[n] ?? {};
    for (let i = first; i < end; i += 1) {
      if (this.#met[i] || harmless?.has(i)) continue;
      if (from.has(i) || this.#controlled[n] || this.#readsMet(i) || this.#loadsMet(i))
        this.#meet(i);
    }
    if (successors.length + (exits ? 1 : 0) < 2) return;
    if (!this.#readsMet(end - 1)) return;
    for (const one of this.#dependentBlocks(n)) {
      if (this.#controlled[one] || !this.#within.has(one)) continue;
      this.#controlled[one] = 1;
      this.#grown = true;
    }
  }

  #dependentBlocks(n: number): readonly number[] {
    const { flow } = this.#reads;
    if (this.#loop.has(n)) return decidedBy(flow, postDominators(flow, true), n);
    return decidedBy(flow, new Int32Array(0), n);
  }

  #readsMet(i: number): boolean {
    const { at, numbers } = this.#reads.flow.names;
    for (let k = at[2 * i + 1] ?? 0; k < (at[2 * i + 2] ?? 0); k += 1)
      if (this.#names[numbers[k] ?? 0]) return true;
    return false;
  }

  #loadsMet(i: number): boolean {
    if (this.#locations.size === 0) return false;
    const { flow, locations } = this.#reads;
    const one = flow.instructions[i];
    if (one === undefined || !isLoad(one.operation)) return false;
    const source = operandRead(one);
    const location = locations.of(one, source?.kind === "memory" ? source : undefined);
    for (const other of this.#locations.values()) if (mayAlias(location, other)) return true;
    return false;
  }

  #meet(i: number): void {
    this.#met[i] = 1;
    this.#grown = true;
    const { flow, locations } = this.#reads;
    const { at, numbers } = flow.names;
    for (let k = at[2 * i] ?? 0; k < (at[2 * i + 1] ?? 0); k += 1) this.#names[numbers[k] ?? 0] = 1;
    const one = flow.instructions[i];
    const target = one && operandWritten(one);
    if (one === undefined || target === undefined) return;
    // The result of an atomic is its old value; other reads of what it writes count for themselves.
    if (this.#reads.from.has(i) && !isCopy(one.operation)) return;
    this.#see(locations.of(one, target));
  }
}
