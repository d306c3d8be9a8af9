// When released best-effort work stands still for a moment, so that the GPU's time slice begins anew, long before it ends
// (docs/design/decisions/0007). After native/interposer/best_effort/turns.cpp. Rules are in us, times of the clock in ns.
import { submission } from "#protocol";
import type { Board } from "./board.ts";

/** Nothing to do for so long. */
const LATER_US = 1000;
const STAND_NS = 8e3;
/** So long the GPU is waited for at most. */
const LIMIT_NS = 2e6;

export class Renewal {
  /** The hold is closed for it. */
  underWay = false;
  readonly #board: Board;
  #sliceSinceNs = 0;
  #standsUntilNs = 0;

  constructor(board: Board) {
    this.#board = board;
  }

  /** The hold is closed: the slice begins when it is opened. */
  held(now: number): void {
    this.#sliceSinceNs = now;
  }

  /**
   * In how many us work is to stand still; 0: now. Only what was submitted ahead, where contexts take turns, can stand still
   * for it.
   */
  dueUs(now: number): number {
    const { renewUs, isolated, submission: how } = this.#board.gate.rules;
    if (renewUs === 0 || isolated === 0 || how !== submission.deep) return LATER_US;
    const since = Math.max(this.#sliceSinceNs, this.#board.idleSince);
    const due = renewUs - (now - since) / 1000;
    return Math.min(LATER_US, Math.max(0, due));
  }

  /** Returns when it is over if the GPU comes to no border. */
  begin(now: number): number {
    this.underWay = true;
    this.#sliceSinceNs = now;
    this.#standsUntilNs = now + LIMIT_NS + STAND_NS;
    return this.#standsUntilNs;
  }

  /** The GPU has come to a border. Returns when it is over. */
  stands(now: number): number {
    this.#standsUntilNs = Math.min(this.#standsUntilNs, now + STAND_NS);
    return this.#standsUntilNs;
  }

  /** Is it over? Then the next slice has begun. */
  ends(now: number): boolean {
    if (!this.underWay || now < this.#standsUntilNs) return false;
    this.underWay = false;
    this.#sliceSinceNs = now;
    return true;
  }
}
