// Best-effort work that is to stand still because somebody asks for it: in a Kubernetes cluster, while no service has the
// GPU. Who asks has to repeat it. A wish that is not repeated lapses, so that nothing is held for ever by somebody who is gone.

/** In ns. */
const LAPSES_AFTER = 60e9;

interface Wish {
  readonly because: string;
  readonly until: number;
}

export class AskedHolds {
  readonly #now: () => number;
  readonly #wishes = new Map<string, Wish>();

  /** `now`: monotonic ns. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns whether it is new. */
  hold(uuid: string, because: string): boolean {
    const isNew = this.reason(uuid) === undefined;
    this.#wishes.set(uuid, { because, until: this.#now() + LAPSES_AFTER });
    return isNew;
  }

  /** Returns whether there was one. */
  lift(uuid: string): boolean {
    const was = this.reason(uuid) !== undefined;
    this.#wishes.delete(uuid);
    return was;
  }

  /** Why best-effort work of that GPU stands still; undefined: nobody asks for it. */
  reason(uuid: string): string | undefined {
    const wish = this.#wishes.get(uuid);
    return wish && wish.until > this.#now() ? wish.because : undefined;
  }
}
