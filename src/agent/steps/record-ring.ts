interface Source {
  count(): number;
  word(at: number): number; // 64 bits
  readonly records: number;
  readonly words: number;
}

export interface RowsRead {
  readonly rows: readonly (readonly number[])[];
  readonly gap: boolean; // earlier rows were overwritten
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
    // The writer may write any number, also one to which 1 cannot be added.
    if (!Number.isSafeInteger(count)) return { rows: [], gap: true };
    const from = Math.max(this.#next ?? 0, count - records);
    let gap = from !== this.#next || count < from;
    const rows: (readonly number[])[] = [];
    for (let n = from; n < count; n++) {
      const at = (n % records) * words;
      rows.push(Array.from({ length: words }, (_, i) => this.#source.word(at + i)));
      // The client has begun to overwrite the row.
      if (this.#source.count() - n < records) continue;
      gap = true;
      rows.length = 0;
    }
    this.#next = count;
    return { rows, gap };
  }
}
