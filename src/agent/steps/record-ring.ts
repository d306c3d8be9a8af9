// A ring of records in a client's slot, read while the client writes on.

interface Source {
  /** How many records were written in all. */
  count(): number;
  /** A 64-bit word of the ring. */
  word(at: number): number;
  /** In the ring, and 64-bit words of each. */
  readonly records: number;
  readonly words: number;
}

export interface RowsRead {
  /** Since the last call, the oldest first. */
  readonly rows: readonly (readonly number[])[];
  /** Rows before these are missing: they were overwritten before they were read. */
  readonly gap: boolean;
}

export class RecordRing {
  readonly #source: Source;
  #next: number | undefined;

  constructor(source: Source) {
    this.#source = source;
  }

  read(): RowsRead {
    const { records, words } = this.#source;
    const count = this.#source.count();
    // Whoever may write the slot may write any number, also one to which 1 cannot be added.
    if (!Number.isSafeInteger(count)) return { rows: [], gap: true };
    const from = Math.max(this.#next ?? 0, count - records);
    let gap = from !== this.#next || count < from;
    const rows: (readonly number[])[] = [];
    for (let n = from; n < count; n++) {
      const at = (n % records) * words;
      rows.push(Array.from({ length: words }, (_, i) => this.#source.word(at + i)));
      // The client has begun to write over it, if it has not finished.
      if (this.#source.count() - n < records) continue;
      gap = true;
      rows.length = 0;
    }
    this.#next = count;
    return { rows, gap };
  }
}
