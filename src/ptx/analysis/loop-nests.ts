// Inner loops are those that remain when the header is removed. A thread that loops for ever passes
// one of these headers again and again.
import { entriesOf, type Flow, loops } from "./control-flow.ts";

export interface Loop {
  readonly blocks: ReadonlySet<number>;
  /** Every iteration of this loop, not only of an inner one, passes it. */
  readonly head: number;
}

const DEEPEST = 40;

export function loopNests(flow: Flow, of: ReadonlySet<number>): readonly Loop[] | undefined {
  const all: Loop[] = [];
  const open = loops(flow).map((blocks) => new Set(blocks));
  const entered = open.length > 0 ? entriesOf(flow) : [];
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

/** No path from the header back to it may avoid `block`. */
export function inEachRound(flow: Flow, { blocks, head }: Loop, block: number): boolean {
  return block === head || !leadsTo(flow, blocks, head, head, block);
}

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
