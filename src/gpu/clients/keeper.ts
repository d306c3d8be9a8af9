// The helper thread's part of a best-effort client, look by look: the end of a resume delay, turns among
// several, the trickle in a long pause, time slices begun anew. After native/interposer/best_effort/turns.cpp, without what repairs
// the traces of killed processes. Times in us where the gate's are, else ns.
import { constants } from "#protocol";
import { HELD_BY_HIGH, newSeen, RUN, type Seen, TRICKLE } from "../gate.ts";
import type { Board } from "./board.ts";
import type { Renewal } from "./renewal.ts";

/** When to look again. */
const DELAYED_US = 50;
const TRICKLING_US = 100;
/** Where chunks pass beside requests. */
const BESIDE_US = 20;
const BACKLOG_US = 1000;
const RENEWING_US = 20;
const IDLE_US = 10_000;
/** Chunks that were on their way when a hold was closed. */
const SLIPPING = 2;
/** A trickle ends by itself after this. */
const TRICKLE_NS = 5e6;

/** A best-effort client, as far as its helper thread sees and changes it. */
export interface GatedClient {
  readonly slot: number;
  readonly now: number;
  readonly outstandingUs: number;
  readonly outstandingLaunches: number;
  /** Borders and marks that the GPU has come to. */
  readonly passed: number;
  trickles: number;
  trickledAt: number;
  standUntil(time: number): void;
}

export class Keeper {
  readonly seen: Seen = newSeen();
  readonly #board: Board;
  readonly #client: GatedClient;
  readonly #renewal: Renewal;
  #heldSince = Number.NaN;
  /** Borders passed when it began, and at the end of the last trickle. */
  #passedInPause = 0;
  #trickling = false;
  #trickleFrom = 0;

  constructor(board: Board, client: GatedClient, renewal: Renewal) {
    this.#board = board;
    this.#client = client;
    this.#renewal = renewal;
  }

  /** Returns in how many microseconds to look again. */
  tick(): number {
    const board = this.#board;
    const client = this.#client;
    const { slot, now } = client;
    const { rules } = board.gate;
    const backlog = board.gated && client.outstandingLaunches > 0;
    if (backlog) board.waiting |= 1 << slot;
    else board.waiting &= ~(1 << slot);
    if (rules.isolated !== 0) this.#takeTurns(backlog, now);
    const held = board.held(slot);
    // A pause in which something ran, but for a trickle, is a new pause. That the hold was open for a moment between
    // two bursts does not end one.
    const interrupted = !this.#trickling && client.passed > this.#passedInPause + SLIPPING;
    if (!backlog || (!held && !this.#trickling)) this.#heldSince = Number.NaN;
    else if (Number.isNaN(this.#heldSince) || interrupted) {
      this.#heldSince = now;
      this.#passedInPause = client.passed;
    }
    const answer = this.#answer(now);
    const released = answer === RUN && backlog && !this.#trickling;
    if (released && this.#renewal.underWay) return BACKLOG_US;
    this.#renewal.underWay = false;
    if (released && !held && this.#renewal.dueUs(now) === 0) {
      board.close(slot);
      client.standUntil(this.#renewal.begin(now));
      return BACKLOG_US;
    }
    if (held) this.#renewal.held(now);
    if (this.#trickling) {
      const again = rules.besideEveryUs > 0 ? BESIDE_US : TRICKLING_US;
      const still = client.passed === this.#trickleFrom && now - client.trickledAt < TRICKLE_NS;
      if (still) return again;
      this.#trickling = false;
      this.#passedInPause = client.passed;
      if (answer !== RUN) this.#close(now);
      return again;
    }
    if (answer === TRICKLE && backlog) this.#trickle(now);
    else if (answer === RUN && held) board.open(slot);
    else if (answer !== RUN && answer !== TRICKLE && !held) this.#close(now);
    if (this.#trickling) return rules.besideEveryUs > 0 ? BESIDE_US : TRICKLING_US;
    if (!backlog) return IDLE_US;
    if (answer === RUN) return Math.max(RENEWING_US, this.#renewal.dueUs(now));
    if (answer !== HELD_BY_HIGH) return BACKLOG_US;
    if (rules.besideEveryUs > 0 && rules.isolated === 0)
      return Math.min(DELAYED_US, Math.max(BESIDE_US, rules.besideEveryUs / 2));
    return rules.resumeDelayUs > 0 ? DELAYED_US : BACKLOG_US;
  }

  /** Work has stood still for long enough, unless that was for nothing: a request finds the hold closed. */
  goOn(): void {
    const { slot, now } = this.#client;
    if (this.#renewal.ends(now) && this.#answer(now) === RUN) this.#board.open(slot);
  }

  #answer(now: number): number {
    const { seen } = this;
    const client = this.#client;
    this.#board.look(client.slot, seen, now);
    seen.aheadUs = client.outstandingUs;
    seen.kernelsOut = client.outstandingLaunches;
    if (!Number.isNaN(this.#heldSince)) {
      seen.heldUs = (now - this.#heldSince) / 1000;
      seen.trickledUs = Math.min(1e9, (now - client.trickledAt) / 1000);
    }
    return this.#board.gate.release(seen);
  }

  #close(now: number): void {
    const { slot } = this.#client;
    this.#board.close(slot);
    if (this.#answer(now) === RUN) this.#board.open(slot);
  }

  /** One chunk: opened here, closed again when a border was passed. */
  #trickle(now: number): void {
    const client = this.#client;
    this.#trickling = true;
    this.#trickleFrom = client.passed;
    client.trickledAt = now;
    client.trickles++;
    this.#board.letTrickle(client.slot);
  }

  #takeTurns(backlog: boolean, now: number): void {
    const board = this.#board;
    const { slot } = this.#client;
    const others = board.waiting & ~(1 << slot);
    if (board.turn === slot) {
      const over = now - board.turnSince > board.gate.rules.turnUs * 1000;
      if (others !== 0 && (!backlog || over)) this.#giveTurn(now);
    } else if (backlog && (board.waiting & (1 << board.turn)) === 0) {
      board.turn = slot;
      board.turnSince = now;
    }
  }

  #giveTurn(now: number): void {
    const board = this.#board;
    const { slot } = this.#client;
    const most = constants.MAX_BEST_EFFORT;
    let to = slot;
    for (let i = 1; i < most && to === slot; i++)
      if (board.waiting & (1 << ((slot + i) % most))) to = (slot + i) % most;
    if (to === slot) return;
    board.close(slot);
    board.turnSince = now;
    board.turn = to;
    if (board.active === 0) board.open(to);
  }
}
