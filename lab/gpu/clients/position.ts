// The position of a best-effort program in its plan, and its next launch: a kernel, a copy or a piece of one, a part of
// a matrix product, or a whole graph. The rules in force decide what is divided.
import { expectedCopyNs, KERNEL, type Plan, piecesOf } from "../model/plan.ts";
import type { Board } from "./board.ts";

export class Position {
  /** The current step of the plan. */
  step = 0;
  /** How many pieces of the current copy, or parts of the current product, have been launched. */
  piece = 0;
  readonly #plan: Plan;
  readonly #board: Board;

  constructor(plan: Plan, board: Board) {
    this.#plan = plan;
    this.#board = board;
  }

  /** Whether an iteration has begun and is not completely launched. */
  get midIteration(): boolean {
    return this.step > 0 || this.piece > 0;
  }

  get #wholeGraph(): boolean {
    return this.#plan.submission === "graph";
  }

  /** The expected duration of the next item. */
  get expectedUs(): number {
    const { graphUs, expectedUs, bytes } = this.#plan;
    if (this.#wholeGraph) return graphUs;
    const part = this.part;
    if (part !== undefined) return expectedUs[part] ?? 0;
    const pieces = this.#pieces;
    return pieces === 1
      ? (expectedUs[this.step] ?? 0)
      : Math.ceil(expectedCopyNs((bytes[this.step] ?? 0) / pieces) / 1000);
  }

  /** Whether the next item is a copy by itself. */
  get copies(): boolean {
    return !this.#wholeGraph && this.#plan.kind[this.step] !== KERNEL;
  }

  /** The class of the next item; 0: unknown, as for a graph. */
  get kernelClass(): number {
    return this.#wholeGraph ? 0 : (this.#plan.kernelClass[this.step] ?? 0);
  }

  /** The SM-units that the next item needs; 0: unknown. */
  get units(): number {
    return this.#wholeGraph ? 0 : (this.#plan.units[this.step] ?? 0);
  }

  /** The next item's step in the plan if it is a part of a product. A product that was begun whole stays whole. */
  get part(): number | undefined {
    const { partCount, partsFrom } = this.#plan;
    if (this.#wholeGraph || (partCount[this.step] ?? 0) === 0) return undefined;
    const divided =
      this.piece > 0 || (this.#board.gated && this.#board.gate.rules.splitProductsUs > 0);
    return divided ? (partsFrom[this.step] ?? 0) + this.piece : undefined;
  }

  /** The number of items that the current step is submitted in. */
  get #pieces(): number {
    if (this.part !== undefined) return this.#plan.partCount[this.step] ?? 1;
    if (!this.copies || !this.#board.gated) return 1;
    return piecesOf(this.#plan.bytes[this.step] ?? 0, this.#board.gate.rules.copyPieceBytes);
  }

  /** The first step that the next item does not include. */
  get upTo(): number {
    return this.#wholeGraph ? this.#plan.length : this.step + 1;
  }

  /**
   * Called when the next item has been launched. Returns whether it was the last of an iteration; then the next one
   * begins.
   */
  advance(): boolean {
    const pieces = this.#pieces;
    const { upTo } = this;
    if (++this.piece < pieces) return false;
    this.piece = 0;
    this.step = upTo < this.#plan.length ? upTo : 0;
    return this.step === 0;
  }
}
