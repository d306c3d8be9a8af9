// Polls often only while that is needed: the polls would be most of an idle agent's cost
// (docs/results/overhead.md).
import type { Clock, Micros } from "#core";

/** In ns: a new best-effort client reports within this time whether its memory can be moved. */
const SAYS_WITHIN = 2e9;

export class AdaptivePoller {
  readonly #clock: Clock;
  readonly #often: Micros;
  readonly #look: () => boolean;
  #cameAt = Number.NEGATIVE_INFINITY;
  #stop: (() => void) | undefined;

  constructor(clock: Clock, often: Micros, look: () => boolean) {
    this.#clock = clock;
    this.#often = often;
    this.#look = look;
  }

  look(): void {
    if (!this.#stop) this.#lookNow();
  }

  noteComer(): void {
    this.#cameAt = this.#clock.now();
    this.#lookNow();
  }

  #lookNow(): void {
    const needed = this.#look() || this.#clock.now() - this.#cameAt < SAYS_WITHIN;
    if (needed) this.#stop ??= this.#clock.every(this.#often, () => this.#lookNow());
    else this.close();
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
