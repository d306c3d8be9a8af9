// A server that makes its answer in the thread that serves requests keeps them waiting, so
// questions take a bounded part of its time.
import type { Judged } from "./judge.ts";

/** Few values in an answer are judged exactly, so a busy service is asked more often. */
const USUAL_NS = { min: 0.2e9, max: 0.95e9 } as const;
const WANTED_VALUES = 2;
export const MAX_ANSWERING_SHARE = 0.02;
/** An answer that takes longer than 0.6 s takes a larger part: 3 % at most. */
const MAX_INTERVAL_NS = 30e9;
/** One late answer, such as the first one, decides nothing. */
const REMEMBERED = 3;

/** Times between tokens are too many to be distinguished in any case. */
export function askEveryNs(found: readonly Judged[], passedNs: number): number {
  const values = found.map(({ kind, counts }) => (kind === "itl" ? 0 : counts.values));
  const most = Math.max(...values, 0);
  const wanted = most === 0 ? Number.POSITIVE_INFINITY : (passedNs * WANTED_VALUES) / most;
  return Math.min(USUAL_NS.max, Math.max(USUAL_NS.min, wanted));
}

export class Interval {
  #byValuesNs: number = USUAL_NS.max;
  #answersNs: readonly number[] = [];

  answered(lastedNs: number): void {
    this.#answersNs = [...this.#answersNs, lastedNs].slice(-REMEMBERED);
  }

  counted(found: readonly Judged[], passedNs: number): void {
    this.#byValuesNs = askEveryNs(found, passedNs);
  }

  get ns(): number {
    return Math.max(this.#byValuesNs, this.#byCostNs);
  }

  get slow(): { readonly everyNs: number; readonly answerNs: number } | undefined {
    return this.#byCostNs > USUAL_NS.max
      ? { everyNs: this.#byCostNs, answerNs: this.#answerNs }
      : undefined;
  }

  get #byCostNs(): number {
    return Math.min(MAX_INTERVAL_NS, this.#answerNs / MAX_ANSWERING_SHARE);
  }

  /** The median counts; of two the shorter one, because a server's first answer is often slow. */
  get #answerNs(): number {
    const sorted = this.#answersNs.toSorted((a, b) => a - b);
    return sorted[(sorted.length - 1) >> 1] ?? 0;
  }
}
