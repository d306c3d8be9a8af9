// A cluster's manager limits what clients of a pod get during requests. A share that is not
// repeated lapses, so that nobody who is gone limits work for ever.

const LAPSES_AFTER = 60e9; // ns

export interface AskedShare {
  readonly share: number; // above 0, at most 1
  readonly from: string;
}

interface NotedShare extends AskedShare {
  readonly until: number;
}

export class AskedShares {
  readonly #now: () => number;
  readonly #given = new Map<string, NotedShare>(); // by GPU and pod

  constructor(now: () => number) {
    this.#now = now;
  }

  give(uuid: string, pod: string, { share, from }: AskedShare): boolean {
    const before = this.of(uuid, pod);
    this.#forgetLapsed();
    this.#given.set(keyOf(uuid, pod), { share, from, until: this.#now() + LAPSES_AFTER });
    return before?.share !== share || before.from !== from;
  }

  take(uuid: string, pod: string): boolean {
    const was = this.of(uuid, pod) !== undefined;
    this.#given.delete(keyOf(uuid, pod));
    return was;
  }

  of(uuid: string, pod: string): AskedShare | undefined {
    const given = this.#given.get(keyOf(uuid, pod));
    return given && given.until > this.#now()
      ? { share: given.share, from: given.from }
      : undefined;
  }

  #forgetLapsed(): void {
    for (const [key, { until }] of this.#given) if (until <= this.#now()) this.#given.delete(key);
  }
}

const keyOf = (uuid: string, pod: string): string => `${uuid} ${pod}`;
