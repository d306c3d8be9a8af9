// Asynchronous copies. Without a seed they are done at once. With a seed they are done later, in any order, and at the
// latest when they are waited for. So a missing wait changes results.
import { KernelError } from "./errors.ts";

/** Each kind has groups of its own; copies that complete on mbarriers belong to no group. */
export type Kind = "copies" | "bulk copies" | "copies on mbarriers";

/** The warp that starts a copy. */
interface Starter {
  threadOf(lane: number): number;
  addPlace(error: unknown, pc: number): unknown;
}

interface Copy {
  readonly kind: Kind;
  /** The number in the block of the thread that started it. */
  readonly owner: number;
  /** The number of its group, from 1 for each kind and owner; 0: not committed yet. */
  group: number;
  readonly warp: Starter;
  readonly pc: number;
  readonly run: () => void;
}

/** The share of the outstanding copies that is done at each turn of the block. */
const SHARE = 0.25;

export class AsyncCopies {
  readonly #random: (() => number) | undefined;
  #copies: Copy[] = [];
  /** Groups committed so far, by kind and owner. */
  readonly #groups = new Map<string, number>();

  constructor(random: (() => number) | undefined) {
    this.#random = random;
  }

  /** Starts a copy for a lane that executes the instruction at `pc`. */
  start(kind: Kind, warp: Starter, lane: number, pc: number, run: () => void): void {
    if (this.#random === undefined) run();
    else this.#copies.push({ kind, owner: warp.threadOf(lane), group: 0, warp, pc, run });
  }

  /** Makes the owner's open copies its next group. */
  commit(kind: Kind, owner: number): void {
    if (this.#random === undefined) return;
    const key = `${kind}/${owner}`;
    const group = (this.#groups.get(key) ?? 0) + 1;
    this.#groups.set(key, group);
    for (const copy of this.#copies)
      if (copy.kind === kind && copy.owner === owner && copy.group === 0) copy.group = group;
  }

  /** Finishes all but the last `left` groups of the owner. */
  wait(kind: Kind, owner: number, left: number): void {
    if (this.#copies.length === 0) return;
    const last = (this.#groups.get(`${kind}/${owner}`) ?? 0) - left;
    this.#finish(
      (copy) => copy.kind === kind && copy.owner === owner && copy.group > 0 && copy.group <= last,
    );
  }

  /** Finishes some copies, chosen at random. */
  some(): void {
    const random = this.#random;
    if (this.#copies.length === 0 || random === undefined) return;
    this.#finish(() => random() < SHARE);
  }

  /**
   * The block ends. An outstanding copy that completes on an mbarrier is an error: it writes to the block's shared
   * memory.
   */
  end(): void {
    const late = this.#copies.find(({ kind }) => kind === "copies on mbarriers");
    if (late !== undefined)
      throw late.warp.addPlace(
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
        throw warp.addPlace(error, pc);
      }
    }
  }
}
