// The shared state of the clients of the modelled GPU, like the region of src/protocol/layout.ts: which high clients
// are active, which best-effort client has the turn, the pause flags, and the parameter table. Times are in ns of virtual
// time.
//
// When holds are set and cleared is also written in native/interposer/high/holding.cpp and best_effort/tick.cpp. It is
// written twice because it consists of atomic operations between processes there, each followed by a check.
import { constants, whenActive } from "#protocol";
import type { Gate } from "../gate/gate.ts";

export interface HeldClient {
  /** Called when its pause flag was cleared. */
  onRelease(): void;
  /**
   * Called when another high kernel runs, because a client that was refused beside the previous one may then ask again.
   */
  onOtherKernel(): void;
}

/** The time in which a copy crosses the link, as far as the CPU knows it. */
export interface Crossing {
  readonly fromNs: number;
  readonly untilNs: number;
}

export class Board {
  readonly gate: Gate;
  /** A bit for each active high client. */
  active = 0;
  /** When each active high client became active, by its bit. */
  readonly #activeSince = new Map<number, number>();
  registered = 0;
  idleSince = Number.NEGATIVE_INFINITY;
  // About the latest high kernel:
  #highClass = 0;
  #highLeavesSms = 0;
  #highEndsNs = 0;
  /** For the request of each high client: when its copies are assumed to cross the link. */
  readonly #copies = new Map<number, readonly Crossing[]>();
  /** A bit for each best-effort client that has work. */
  waiting = 0;
  turn = 0;
  turnSince = 0;
  readonly clients: HeldClient[] = [];
  readonly #holds = new Uint8Array(constants.MAX_BEST_EFFORT);

  constructor(gate: Gate) {
    this.gate = gate;
  }

  /** Whether best-effort work may have to wait. */
  get gated(): boolean {
    const { paused, protect } = this.gate.rules;
    return paused !== 0 || (protect !== 0 && this.registered !== 0);
  }

  held(slot: number): boolean {
    return this.#holds[slot] !== 0;
  }

  close(slot: number): void {
    this.#holds[slot] = 1;
  }

  /** Clears the client's pause flag, unless a request is active that best-effort work must wait for. */
  open(slot: number): void {
    if ((this.active !== 0 && this.#holdsApply) || this.#holds[slot] === 0) return;
    this.#holds[slot] = 0;
    this.clients[slot]?.onRelease();
  }

  /** Lets one chunk pass, even if a high client is active. */
  letProgress(slot: number): void {
    if (this.#holds[slot] === 0) return;
    this.#holds[slot] = 0;
    this.clients[slot]?.onRelease();
  }

  /** Passes the turn from the client that has it to another. */
  giveTurn(slot: number, to: number, now: number): void {
    this.close(slot);
    this.turnSince = now;
    this.turn = to;
    if (this.active === 0) this.open(to);
  }

  takeTurn(slot: number, now: number): void {
    this.turn = slot;
    this.turnSince = now;
  }

  /** Called when a burst begins or is announced. */
  busy(bit: number, now: number): void {
    if ((this.active & bit) === 0) this.#activeSince.set(bit, now);
    this.active |= bit;
    if (this.#holdsApply) this.#holds.fill(1);
  }

  /**
   * Called when the program of an active request waits for it, or has launched so much of it: it counts as old from now on. A young
   * one holds now.
   */
  growOld(bit: number, now: number): void {
    const { protect, whenActive: rule, graceUs, coRunUntilUs } = this.gate.rules;
    const old = now - (graceUs > 0 ? graceUs : coRunUntilUs) * 1000;
    this.#activeSince.set(bit, Math.min(old, this.#activeSince.get(bit) ?? now));
    if (graceUs > 0 && protect !== 0 && rule === whenActive.wait) this.#holds.fill(1);
  }

  /** Since the oldest active request began or was announced; 0 if none is active. */
  activeNs(now: number): number {
    let longest = 0;
    for (const [bit, since] of this.#activeSince)
      if ((this.active & bit) !== 0) longest = Math.max(longest, now - since);
    return longest;
  }

  /** Called when the last burst of this client has ended. */
  idle(bit: number, now: number): void {
    this.active &= ~bit;
    if (this.active !== 0) return;
    this.idleSince = now;
    const { paused, resumeDelayUs, isolated } = this.gate.rules;
    if (paused === 0 && resumeDelayUs === 0)
      for (let slot = 0; slot < this.clients.length; slot++)
        if (isolated === 0 || slot === this.turn) this.open(slot);
  }

  /** Called when a request of this client begins. Its copies are forgotten when it is no longer active. */
  copies(bit: number, crossings: readonly Crossing[]): void {
    this.#copies.set(bit, crossings);
  }

  /** Whether a copy of an active high client crosses the link now. */
  highCopying(now: number): boolean {
    for (const [bit, crossings] of this.#copies)
      if ((this.active & bit) !== 0)
        for (const { fromNs, untilNs } of crossings)
          if (now >= fromNs && now < untilNs) return true;
    return false;
  }

  /** Called when a high kernel begins: its class, the SMs that it leaves free, and when it is expected to end. */
  highKernel(kernelClass: number, leavesSms: number, endsNs: number): void {
    this.#highClass = kernelClass;
    this.#highLeavesSms = leavesSms;
    this.#highEndsNs = endsNs;
    for (const client of this.clients) client.onOtherKernel();
  }

  /** Sets all fields that are not the client's own. The caller sets `heldUs` and `progressedUs`. */
  look(slot: number, now: number): void {
    const { seen } = this.gate;
    seen.highRegistered = this.registered !== 0;
    seen.highActive = this.active !== 0;
    seen.highClass = this.#highClass;
    seen.highLeavesSms = this.#highLeavesSms;
    seen.highLeftUs = Math.max(0, Math.floor((this.#highEndsNs - now) / 1000));
    seen.idleUs = Math.floor((now - this.idleSince) / 1000);
    seen.activeUs = Math.floor(this.activeNs(now) / 1000);
    seen.myTurn = this.turn === slot || (this.waiting & ~(1 << slot)) === 0;
    seen.highCopying = false;
    seen.heldUs = 0;
    seen.progressedUs = 0;
  }

  get #holdsApply(): boolean {
    const { protect, whenActive: rule, graceUs } = this.gate.rules;
    return protect !== 0 && rule === whenActive.wait && graceUs === 0;
  }
}
