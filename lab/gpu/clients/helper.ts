// The helper thread of a best-effort client. It looks at the board, and carries out the decisions of the state machine
// (native/gate/hold.h). native/interposer/best_effort/tick.cpp does the same on shared memory.
import { holdAction, nextLook, turnAction } from "#protocol";
import { HoldMachine } from "../gate/hold.ts";
import type { Board } from "./board.ts";
import type { Outstanding } from "./outstanding.ts";

/** The part of a best-effort client that its helper thread sees and changes. */
export interface GatedClient {
  readonly slot: number;
  readonly now: number;
  readonly outstanding: Outstanding;
  /** Whether it is blocked in a launch that its gate refuses. */
  readonly asks: boolean;
  minProgress: number;
  progressedAt: number;
}

export class Helper {
  /** Whether the next poll is at the next preemption point, if that is sooner. */
  awaitsBorder = false;
  readonly #board: Board;
  readonly #client: GatedClient;
  readonly #machine: HoldMachine;

  constructor(board: Board, client: GatedClient) {
    this.#board = board;
    this.#client = client;
    this.#machine = new HoldMachine(board.gate);
    // In the model no stream stands still, and no kernel stops inside: these fields stay 0.
    this.#machine.view.slot = client.slot;
  }

  /** Returns the ns until the next poll. */
  look(): number {
    const board = this.#board;
    this.#see();
    this.#machine.look();
    const { decided } = this.#machine;
    const { slot, now } = this.#client;
    if (decided.waiting) board.waiting |= 1 << slot;
    else board.waiting &= ~(1 << slot);
    if (decided.turn === turnAction.give) board.giveTurn(slot, decided.turnTo, now);
    else if (decided.turn === turnAction.take) board.takeTurn(slot, now);
    this.#carryOut();
    this.awaitsBorder = decided.next === nextLook.border;
    return decided.againNs;
  }

  #see(): void {
    const board = this.#board;
    const client = this.#client;
    const { view } = this.#machine;
    const { slot, now } = client;
    view.nowNs = now;
    view.held = board.held(slot);
    view.launchesOut = client.outstanding.launches;
    view.outNs = client.outstanding.us * 1000;
    view.callersWaiting = client.asks;
    view.far = client.outstanding.passed;
    view.progressedNs = now - client.progressedAt;
    view.waiting = board.waiting;
    view.turn = board.turn;
    view.turnNs = now - board.turnSince;
    view.highRegistered = board.registered;
    view.highActive = board.active;
    view.idleUs = (now - board.idleSince) / 1000;
    view.activeUs = board.activeNs(now) / 1000;
  }

  #carryOut(): void {
    const board = this.#board;
    const client = this.#client;
    const { slot, now } = client;
    const { hold, progresses, counts } = this.#machine.decided;
    if (progresses) client.progressedAt = now;
    if (counts) client.minProgress++;
    if (hold === holdAction.open) board.open(slot);
    else if (hold === holdAction.chunk) board.letProgress(slot);
    else if (hold !== holdAction.leave) board.close(slot);
  }
}
