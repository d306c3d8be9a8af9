// Where a best-effort program is in its plan, and what it launches next: a kernel, a copy or a piece of one, a part of
// a matrix product, or a whole graph. What is divided depends on the rules in force.
import { expectedCopyNs, KERNEL, type Plan, piecesOf } from "../plan.ts";
import type { Board } from "./board.ts";

export class Position {
  /** The step of the plan at hand. */
  step = 0;
  /** Pieces of the copy, or parts of the product, at hand that have been launched. */
  piece = 0;
  readonly #plan: Plan;
  readonly #board: Board;

  constructor(plan: Plan, board: Board) {
    this.#plan = plan;
    this.#board = board;
  }

  /** An iteration has been begun and not launched whole. */
  get midIteration(): boolean {
    return this.step > 0 || this.piece > 0;
  }

  get #wholeGraph(): boolean {
    return this.#plan.submission === "graph";
  }

  /** What comes next is expected to take so long. */
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

  /** What comes next is a copy by itself. */
  get copies(): boolean {
    return !this.#wholeGraph && this.#plan.kind[this.step] !== KERNEL;
  }

  /** Of what comes next; 0: unknown, as of a graph. */
  get kernelClass(): number {
    return this.#wholeGraph ? 0 : (this.#plan.kernelClass[this.step] ?? 0);
  }

  /** SM-units that what comes next needs; 0: unknown. */
  get units(): number {
    return this.#wholeGraph ? 0 : (this.#plan.units[this.step] ?? 0);
  }

  /** What comes next is this part of a product, as a step of the plan. A product that was begun whole stays whole. */
  get part(): number | undefined {
    const { partCount, partsFrom } = this.#plan;
    if (this.#wholeGraph || (partCount[this.step] ?? 0) === 0) return undefined;
    const divided =
      this.piece > 0 || (this.#board.gated && this.#board.gate.rules.splitProductsUs > 0);
    return divided ? (partsFrom[this.step] ?? 0) + this.piece : undefined;
  }

  /** Items that the step at hand is submitted in. */
  get #pieces(): number {
    if (this.part !== undefined) return this.#plan.partCount[this.step] ?? 1;
    if (!this.copies || !this.#board.gated) return 1;
    return piecesOf(this.#plan.bytes[this.step] ?? 0, this.#board.gate.rules.copyPieceBytes);
  }

  /** The first step that the next item does not reach. */
  get upTo(): number {
    return this.#wholeGraph ? this.#plan.length : this.step + 1;
  }

  /** The next item has been launched. Returns whether it was the last of an iteration; then the next one begins. */
  advance(): boolean {
    const pieces = this.#pieces;
    const { upTo } = this;
    if (++this.piece < pieces) return false;
    this.piece = 0;
    this.step = upTo < this.#plan.length ? upTo : 0;
    return this.step === 0;
  }
}
