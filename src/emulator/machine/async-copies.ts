// Copies that go on beside the threads. In rising order of warps (seed 0) they are done at once. With a seed they
// are done later, in any order, at the latest where they are waited for, so that what is read or overwritten too
// early shows.
import { KernelError } from "./errors.ts";

/** Each kind has groups of its own; copies on mbarriers are in none. */
export type Kind = "copies" | "bulk copies" | "copies on mbarriers";

/** The warp that starts a copy. */
interface Starter {
  threadOf(lane: number): number;
  located(error: unknown, pc: number): unknown;
}

interface Copy {
  readonly kind: Kind;
  /** The thread that waits for it, counted in its block. */
  readonly owner: number;
  /** Counts from 1 for each kind and owner; 0: not committed yet. */
  group: number;
  readonly warp: Starter;
  readonly pc: number;
  readonly run: () => void;
}

/** Of the copies that there are, so many are done each time that a block has its turn. */
const SHARE = 0.25;

export class AsyncCopies {
  readonly #random: (() => number) | undefined;
  #copies: Copy[] = [];
  /** Groups committed so far, by kind and owner. */
  readonly #groups = new Map<string, number>();

  constructor(random: (() => number) | undefined) {
    this.#random = random;
  }

  /** A copy that a lane starts by the instruction at `pc`. */
  start(kind: Kind, warp: Starter, lane: number, pc: number, run: () => void): void {
    if (this.#random === undefined) run();
    else this.#copies.push({ kind, owner: warp.threadOf(lane), group: 0, warp, pc, run });
  }

  /** What the owner has started becomes its next group. */
  commit(kind: Kind, owner: number): void {
    if (this.#random === undefined) return;
    const key = `${kind}/${owner}`;
    const group = (this.#groups.get(key) ?? 0) + 1;
    this.#groups.set(key, group);
    for (const copy of this.#copies)
      if (copy.kind === kind && copy.owner === owner && copy.group === 0) copy.group = group;
  }

  /** Until only the last `left` groups of the owner may be under way. */
  wait(kind: Kind, owner: number, left: number): void {
    if (this.#copies.length === 0) return;
    const last = (this.#groups.get(`${kind}/${owner}`) ?? 0) - left;
    this.#finish(
      (copy) => copy.kind === kind && copy.owner === owner && copy.group > 0 && copy.group <= last,
    );
  }

  /** Some of them. */
  some(): void {
    const random = this.#random;
    if (this.#copies.length === 0 || random === undefined) return;
    this.#finish(() => random() < SHARE);
  }

  /** The block has ended: nothing may still write to its shared memory on behalf of an mbarrier. */
  end(): void {
    const late = this.#copies.find(({ kind }) => kind === "copies on mbarriers");
    if (late !== undefined)
      throw late.warp.located(
        new KernelError("PTX_BAD_BARRIER", "the block ends while this copy is under way", 0),
        late.pc,
      );
    this.#finish(() => true);
  }

  #finish(which: (copy: Copy) => boolean): void {
    const rest: Copy[] = [];
    const now: Copy[] = [];
    for (const copy of this.#copies) (which(copy) ? now : rest).push(copy);
    this.#copies = rest;
    for (const { run, pc, warp } of now) {
      try {
        run();
      } catch (error) {
        throw warp.located(error, pc);
      }
    }
  }
}
