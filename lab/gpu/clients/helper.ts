// The helper thread of a best-effort client. It looks at the board, and carries out the decisions of the state machine
// (native/gate/hold.h). native/interposer/best_effort/tick.cpp does the same on shared memory.
import { HoldMachine, type HoldView, holdAction, nextLook, turnAction } from "../gate/hold.ts";
import type { Board } from "./board.ts";
import type { Outstanding } from "./outstanding.ts";

/** The part of a best-effort client that its helper thread sees and changes. */
export interface GatedClient {
  readonly slot: number;
  readonly now: number;
  readonly outstanding: Outstanding;
  /** Whether it is blocked in a launch that its gate refuses. */
  readonly asks: boolean;
  trickles: number;
  trickledAt: number;
}

export class Helper {
  /** Whether the next look is at the next border, if that is sooner. */
  awaitsBorder = false;
  readonly #board: Board;
  readonly #client: GatedClient;
  readonly #machine: HoldMachine;
  readonly #view: HoldView;

  constructor(board: Board, client: GatedClient) {
    this.#board = board;
    this.#client = client;
    this.#machine = new HoldMachine(board.gate);
    // In the model no stream stands still, and no kernel stops inside.
    this.#view = { slot: client.slot, stands: 0, stopsInside: 0 } as HoldView;
  }

  /** Returns the ns until the next look. */
  look(): number {
    const board = this.#board;
    const machine = this.#machine;
    this.#see();
    machine.look(this.#view);
    const { slot, now } = this.#client;
    if (machine.waiting) board.waiting |= 1 << slot;
    else board.waiting &= ~(1 << slot);
    if (machine.turn === turnAction.give) board.giveTurn(slot, machine.turnTo, now);
    else if (machine.turn === turnAction.take) board.takeTurn(slot, now);
    this.#carryOut();
    this.awaitsBorder = machine.next === nextLook.border;
    return machine.againNs;
  }

  #see(): void {
    const board = this.#board;
    const client = this.#client;
    const view = this.#view;
    const { slot, now } = client;
    view.nowNs = now;
    view.held = board.held(slot) ? 1 : 0;
    view.launchesOut = client.outstanding.launches;
    view.outNs = client.outstanding.us * 1000;
    view.callersWaiting = client.asks ? 1 : 0;
    view.far = client.outstanding.passed;
    view.trickledNs = now - client.trickledAt;
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
    const { hold, trickles, counts } = this.#machine;
    if (trickles) client.trickledAt = now;
    if (counts) client.trickles++;
    if (hold === holdAction.open) board.open(slot);
    else if (hold === holdAction.chunk) board.letTrickle(slot);
    else if (hold !== holdAction.leave) board.close(slot);
  }
}
