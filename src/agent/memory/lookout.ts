// How often the agent looks for refused allocations. While nobody can park memory no client waits at one, and looking often
// would be most of what an idle agent costs (docs/results/overhead.md).
import { type Clock, ms } from "#core";

/** A refused allocation waits for memory of best-effort clients: 2 s, and 250 ms until it hears of it. */
const PERIOD = ms(20);
/** In ns. Within that a client that has come says whether its memory can be moved. */
const SAYS_WITHIN = 2e9;

export class Lookout {
  readonly #clock: Clock;
  readonly #look: () => boolean;
  #cameAt = Number.NEGATIVE_INFINITY;
  #stop: (() => void) | undefined;

  /** `look` returns whether a refused allocation would wait. */
  constructor(clock: Clock, look: () => boolean) {
    this.#clock = clock;
    this.#look = look;
  }

  /** A look, and as many more as are needed. To be called a few times a second. */
  look(): void {
    const needed = this.#look() || this.#clock.now() - this.#cameAt < SAYS_WITHIN;
    if (needed) this.#stop ??= this.#clock.every(PERIOD, () => this.look());
    else this.close();
  }

  /** A best-effort client has come. */
  noteComer(): void {
    this.#cameAt = this.#clock.now();
    this.look();
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}
