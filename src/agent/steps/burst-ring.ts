import { constants, type HighSlot, type View } from "#protocol";
import { RecordRing } from "./record-ring.ts";

/** Times are in ns. */
export interface BurstRecord {
  readonly begin: number;
  readonly end: number;
  readonly waited: number;
  readonly launches: number;
}

export interface BurstsRead {
  readonly bursts: readonly BurstRecord[];
  /** Earlier bursts are missing: they were overwritten before they were read, or impossible. */
  readonly gap: boolean;
}

/** A burst may end after the clock was read. */
const MAX_LATER_NS = 1e9;

export class BurstRing {
  readonly #ring: RecordRing;
  #end = 0;
  #launches: number | undefined;

  constructor(slot: View<typeof HighSlot>) {
    this.#ring = new RecordRing({
      count: () => slot.bursts,
      word: (at) => slot.burstRecords.get(at),
      records: constants.BURST_RECORDS,
      words: constants.BURST_RECORD_WORDS,
    });
  }

  read(now: number): BurstsRead {
    const { rows, gap } = this.#ring.read();
    let missing = gap;
    let bursts: BurstRecord[] = [];
    for (const row of rows) {
      const record = this.#burstIn(row, now + MAX_LATER_NS);
      if (record) bursts.push(record);
      else [bursts, missing] = [[], true];
    }
    return { bursts, gap: missing };
  }

  #burstIn(
    [begin, end, waited, launches]: readonly number[],
    until: number,
  ): BurstRecord | undefined {
    const [before, from] = [this.#launches, this.#end];
    this.#launches = launches;
    if (begin === undefined || end === undefined || waited === undefined || launches === undefined)
      return undefined;
    if (!(end <= until)) return undefined;
    this.#end = end;
    if (before === undefined || launches < before) return undefined;
    if (begin < from || end < begin || waited > end - begin) return undefined;
    return { begin, end, waited, launches: launches - before };
  }
}
