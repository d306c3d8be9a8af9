// Loops in loops: each set of blocks in which a thread may go round, and, without the block at which it is entered,
// those inside it. Whoever goes round for ever does so in one of them and comes to its head again and again.
import { type Flow, loops } from "./control-flow.ts";

export interface Loop {
  readonly blocks: ReadonlySet<number>;
  /** A block that every round through the loop, and not only through one inside it, comes to. */
  readonly head: number;
}

/** No program nests loops deeper than this. */
const DEEPEST = 40;

/** Outer ones first; only those with one of the blocks `of`. Undefined if they are nested too deep. */
export function loopNests(flow: Flow, of: ReadonlySet<number>): readonly Loop[] | undefined {
  const all: Loop[] = [];
  const open = loops(flow).map((blocks) => new Set(blocks));
  const entered = open.length > 0 ? entries(flow) : [];
  const depths = open.map(() => 1);
  for (const [i, blocks] of open.entries()) {
    const depth = depths[i] ?? 1;
    if (depth > DEEPEST) return undefined;
    if (![...blocks].some((one) => of.has(one))) continue;
    const head = headOf(flow, blocks, entered);
    all.push({ blocks, head });
    const rest = new Set(blocks);
    rest.delete(head);
    if (rest.size > 0)
      for (const inner of loops(flow, rest)) {
        open.push(new Set(inner));
        depths.push(depth + 1);
      }
  }
  return all;
}

/** By block: those that lead to it. */
function entries({ blocks }: Flow): readonly (readonly number[])[] {
  const from: number[][] = blocks.map(() => []);
  blocks.forEach(({ successors }, n) => {
    for (const one of successors) from[one]?.push(n);
  });
  return from;
}

/** Where it is entered; one of several such blocks will do. */
function headOf(
  { blocks }: Flow,
  loop: ReadonlySet<number>,
  entered: readonly (readonly number[])[],
): number {
  let first = blocks.length;
  let head = blocks.length;
  for (const one of loop) {
    first = Math.min(first, one);
    if (one < head && (one === 0 || entered[one]?.some((from) => !loop.has(from)))) head = one;
  }
  return head < blocks.length ? head : first;
}

/** May a thread come from the loop's head back to it without `block`? If not, each round comes there. */
export function inEachRound(flow: Flow, { blocks, head }: Loop, block: number): boolean {
  return block === head || !leadsTo(flow, blocks, head, head, block);
}

/** Within `inside`, is there a way from the end of `from` to `to` that does not pass `without`? */
export function leadsTo(
  { blocks }: Flow,
  inside: ReadonlySet<number>,
  from: number,
  to: number,
  without: number,
): boolean {
  const seen = new Set<number>();
  const open = [from];
  for (let n = open.pop(); n !== undefined; n = open.pop())
    for (const one of blocks[n]?.successors ?? []) {
      if (one === without || !inside.has(one)) continue;
      if (one === to) return true;
      if (seen.has(one)) continue;
      seen.add(one);
      open.push(one);
    }
  return false;
}
