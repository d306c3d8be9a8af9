// Looks that are taken often only while that is needed. They would be most of what an idle agent costs
// (docs/results/overhead.md).
import type { Clock, Micros } from "#core";

/** In ns. Within that a best-effort client that has come says whether its memory can be moved. */
const SAYS_WITHIN = 2e9;

export class AdaptivePoller {
  readonly #clock: Clock;
  readonly #often: Micros;
  readonly #look: () => boolean;
  #cameAt = Number.NEGATIVE_INFINITY;
  #stop: (() => void) | undefined;

  /** `often`: the period. `look` returns whether it is needed as often. */
  constructor(clock: Clock, often: Micros, look: () => boolean) {
    this.#clock = clock;
    this.#often = often;
    this.#look = look;
  }

  /** A sample, unless it is taken often anyway. To be called now and then. */
  look(): void {
    if (!this.#stop) this.#lookNow();
  }

  /** A best-effort client has come. */
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
