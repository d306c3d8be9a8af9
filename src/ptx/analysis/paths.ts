// The paths do not pass the first instruction again.

import type { Flow } from "./control-flow.ts";

export class Paths {
  readonly #flow: Flow;
  readonly #from: number | undefined;
  readonly #ahead: ReadonlySet<number>;
  readonly #before = new Map<number, ReadonlySet<number>>();

  constructor(flow: Flow, from: number | undefined) {
    this.#flow = flow;
    this.#from = from;
    this.#ahead = from === undefined ? new Set(flow.blocks.keys()) : ahead(flow, this.#block(from));
  }

  leadTo(block: number): boolean {
    return this.#ahead.has(block);
  }

  get comeBack(): boolean {
    const start = this.#start();
    return (
      start !== undefined &&
      [...this.#ahead].some((n) => this.#flow.blocks[n]?.successors.includes(start))
    );
  }

  /** Does a path to the instruction `to` go over the branch at the end of the block? */
  leadOver(block: number, to: number): boolean {
    if (!this.#ahead.has(block)) return false;
    const before = this.#blocksBefore(to);
    return this.#flow.blocks[block]?.successors.some((one) => before.has(one)) === true;
  }

  pass(i: number, to: number): boolean {
    const own = this.#block(i);
    const first = own === this.#start() ? this.#from : undefined;
    const reached = first === undefined ? this.#ahead.has(own) : i > first || this.comeBack;
    if (!reached) return false;
    const cut = first !== undefined && i < first && first < to;
    if (own === this.#block(to) && i < to && !cut) return true;
    return (first === undefined || i >= first) && this.leadOver(own, to);
  }

  #block(i: number): number {
    return this.#flow.blockOf[i] ?? 0;
  }

  #start(): number | undefined {
    return this.#from === undefined ? undefined : this.#block(this.#from);
  }

  #blocksBefore(to: number): ReadonlySet<number> {
    const known = this.#before.get(to);
    if (known !== undefined) return known;
    const { blocks } = this.#flow;
    const own = this.#block(to);
    const start = this.#start();
    const found = new Set<number>();
    if (start !== own || (this.#from ?? 0) >= to) found.add(own);
    for (const one of found)
      blocks.forEach(({ successors }, n) => {
        if (n !== start && successors.includes(one)) found.add(n);
      });
    this.#before.set(to, found);
    return found;
  }
}

function ahead({ blocks }: Flow, block: number): ReadonlySet<number> {
  const found = new Set<number>([block]);
  for (const one of found) for (const next of blocks[one]?.successors ?? []) found.add(next);
  return found;
}

export function comesBefore(flow: Flow, definition: number, use: number): boolean {
  const { blocks, blockOf } = flow;
  const own = blockOf[definition] ?? 0;
  const other = blockOf[use] ?? 0;
  if (own === other) return definition < use;
  if (own === 0) return true;
  const found = new Set([0]);
  for (const one of found)
    for (const next of blocks[one]?.successors ?? []) if (next !== own) found.add(next);
  return !found.has(other);
}
