// Shares of a GPU that somebody gives to best-effort clients, such as a cluster's manager through the node part: the most
// that the clients of a pod get during requests. Who gives a share has to repeat it. One that is not repeated lapses, so
// that nothing is limited for ever by somebody who is gone.

/** In ns. */
const LAPSES_AFTER = 60e9;

export interface AskedShare {
  /** 0 to 1, not 0. */
  readonly share: number;
  /** The source of the share, for people. */
  readonly from: string;
}

interface NotedShare extends AskedShare {
  readonly until: number;
}

export class AskedShares {
  readonly #now: () => number;
  /** By GPU and pod. */
  readonly #given = new Map<string, NotedShare>();

  /** `now`: monotonic ns. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Returns whether it is another one than before. `pod`: its UID. */
  give(uuid: string, pod: string, { share, from }: AskedShare): boolean {
    const before = this.of(uuid, pod);
    this.#forgetLapsed();
    this.#given.set(keyOf(uuid, pod), { share, from, until: this.#now() + LAPSES_AFTER });
    return before?.share !== share || before.from !== from;
  }

  /** Returns whether there was one. */
  take(uuid: string, pod: string): boolean {
    const was = this.of(uuid, pod) !== undefined;
    this.#given.delete(keyOf(uuid, pod));
    return was;
  }

  /** undefined: nobody gives one. */
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
