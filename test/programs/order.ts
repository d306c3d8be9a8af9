// The happens-before relation, by which a generated program has no race: each stream and each thread of the host
// knows up to which operation of every other stream all is done before its next one.

/** Up to which operation of a stream, by the stream's number. */
export class Clock {
  readonly #upTo = new Map<number, number>();

  knows({ lane, at }: Point): boolean {
    return (this.#upTo.get(lane) ?? 0) >= at;
  }

  reach({ lane, at }: Point): void {
    if (!this.knows({ lane, at })) this.#upTo.set(lane, at);
  }

  learn(other: Clock): void {
    for (const [lane, at] of other.#upTo) this.reach({ lane, at });
  }

  copy(): Clock {
    const made = new Clock();
    made.learn(this);
    return made;
  }
}

/** The `at`-th operation of a stream. */
export interface Point {
  readonly lane: number;
  readonly at: number;
}

/** The last accesses to memory: a reader must come after the write, a writer after the reads as well. */
export class Accesses {
  readonly #of = new Map<number, { write: Point | undefined; reads: Point[] }>();

  before(memory: number, writes: boolean): readonly Point[] {
    const { write, reads } = this.#of.get(memory) ?? { write: undefined, reads: [] };
    return [...(write ? [write] : []), ...(writes ? reads : [])];
  }

  note(memory: number, writes: boolean, point: Point): void {
    const { write, reads } = this.#of.get(memory) ?? { write: undefined, reads: [] };
    this.#of.set(
      memory,
      writes ? { write: point, reads: [] } : { write, reads: [...reads, point] },
    );
  }

  /** Memory that was touched, and whether it was written. */
  touched(): ReadonlyMap<number, boolean> {
    return new Map([...this.#of].map(([memory, { write }]) => [memory, write !== undefined]));
  }
}
