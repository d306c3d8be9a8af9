// In a cluster, best-effort work is held while no service has the GPU. A wish that is not repeated
// lapses, so that nobody who is gone holds work for ever.

const LAPSES_AFTER = 60e9; // ns

interface Wish {
  readonly because: string;
  readonly until: number;
}

export class AskedHolds {
  readonly #now: () => number;
  readonly #wishes = new Map<string, Wish>();

  constructor(now: () => number) {
    this.#now = now;
  }

  hold(uuid: string, because: string): boolean {
    const isNew = this.reason(uuid) === undefined;
    this.#wishes.set(uuid, { because, until: this.#now() + LAPSES_AFTER });
    return isNew;
  }

  lift(uuid: string): boolean {
    const was = this.reason(uuid) !== undefined;
    this.#wishes.delete(uuid);
    return was;
  }

  reason(uuid: string): string | undefined {
    const wish = this.#wishes.get(uuid);
    return wish && wish.until > this.#now() ? wish.because : undefined;
  }
}
