// How often a service is asked for its metrics. A server that makes its answer in the thread that serves its requests keeps
// them waiting meanwhile, so asking takes a bounded part of its time.
import type { Judged } from "./judge.ts";

/** Few values in an answer are judged exactly, so a service that ends many requests is asked more often. */
const USUAL_NS = { min: 0.2e9, max: 0.95e9 } as const;
const WANTED_VALUES = 2;
/** Answers take no larger part of the time than this. */
export const MAX_ANSWERING_SHARE = 0.02;
/** Not less often, though an answer that takes longer than 0.6 s then takes a larger part: 3 % at most. */
const MAX_INTERVAL_NS = 30e9;
/** One answer that was late for another reason, such as the first one, decides nothing. */
const REMEMBERED = 3;

/** When to ask next by what came. `passedNs`: in which it came. Times between tokens are too many to be distinguished in any case. */
export function askEveryNs(found: readonly Judged[], passedNs: number): number {
  const values = found.map(({ kind, counts }) => (kind === "itl" ? 0 : counts.values));
  const most = Math.max(...values, 0);
  const wanted = most === 0 ? Number.POSITIVE_INFINITY : (passedNs * WANTED_VALUES) / most;
  return Math.min(USUAL_NS.max, Math.max(USUAL_NS.min, wanted));
}

/** From the start of one question to that of the next. Times are in ns. */
export class Interval {
  #byValuesNs: number = USUAL_NS.max;
  /** How long the newest answers took, also those that never came. */
  #answersNs: readonly number[] = [];

  answered(lastedNs: number): void {
    this.#answersNs = [...this.#answersNs, lastedNs].slice(-REMEMBERED);
  }

  /** `passedNs`: since the answer before. */
  counted(found: readonly Judged[], passedNs: number): void {
    this.#byValuesNs = askEveryNs(found, passedNs);
  }

  get ns(): number {
    return Math.max(this.#byValuesNs, this.#byCostNs);
  }

  /** undefined while the service is asked as often as it would be if answers cost nothing. */
  get slow(): { readonly everyNs: number; readonly answerNs: number } | undefined {
    return this.#byCostNs > USUAL_NS.max
      ? { everyNs: this.#byCostNs, answerNs: this.#answerNs }
      : undefined;
  }

  get #byCostNs(): number {
    return Math.min(MAX_INTERVAL_NS, this.#answerNs / MAX_ANSWERING_SHARE);
  }

  /** The median; of two the shorter one, because the first answer of a server is often slow. */
  get #answerNs(): number {
    const sorted = this.#answersNs.toSorted((a, b) => a - b);
    return sorted[(sorted.length - 1) >> 1] ?? 0;
  }
}
